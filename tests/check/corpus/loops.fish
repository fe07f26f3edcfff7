# A loop, a string's builtin, a function.
for i in (seq 5); echo $i | string replace 1 x; end; function f; math $argv[1] + 1; end; f 3
