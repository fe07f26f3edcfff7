# Functions, an always block, a coprocess, a signal's trap.
f() { local i s=0; for i in {1..50}; do (( s += i )); done; print $s }; f; { print a; false } always { print b }; coproc cat; print -p hi; read -p x; print $x; TRAPUSR1() { print got }; kill -USR1 $$
