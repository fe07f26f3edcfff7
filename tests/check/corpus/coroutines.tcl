proc gen {n} { yield; for {set i 0} {$i < $n} {incr i} { yield $i }; error "gone" }
coroutine g gen 3
puts [list [g] [g] [g] [catch g m] $m]
proc deep {n} { if {$n == 0} { return -code error -errorcode {A B} "deep" }; deep [expr {$n - 1}] }
for {set i 0} {$i < 5} {incr i} { puts [catch {deep 20} m o] }
try { deep 3 } trap {A B} m { puts "trapped $m" } finally { puts finally }
proc loop {} { while 1 { uplevel 1 { incr ::x; if {$::x > 5} { break } }; if {$::x > 5} { return -level 0 x; break } } }
set x 0
catch { loop }
after 10 { set ::done 1 }
vwait done
set c [interp create]
puts [$c eval { expr {1 + [string length abc]} }]
$c alias up deep
puts [catch { $c eval { up 3 } }]
interp delete $c
trace add variable x write { apply {args { puts "x is $::x" }} }
set x 7
puts [lsort -command { apply {{a b} { expr {$b - $a} }} } {1 3 2}]
puts [regsub -all {a(b)} abab {\1}]
oo::class create Q { method m {} { return q } }
oo::class create P { superclass Q; method m {} { return "p[next]" }; destructor { puts destroyed } }
set p [P new]
puts [$p m]
$p destroy
proc tail {n} { if {$n == 0} { return end }; tailcall tail [expr {$n - 1}] }
puts [tail 100]
puts [exec echo out]
rename puts old_puts
proc puts args { old_puts {*}$args }
puts [lmap v {1 2 3} { if {$v == 2} continue; expr {$v * 2} }]
catch { exec false }
