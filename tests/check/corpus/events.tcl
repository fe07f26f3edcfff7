proc fib n { if {$n < 2} {return $n}; expr {[fib [expr {$n-1}]] + [fib [expr {$n-2}]]} }
proc tick n { global done sum; incr sum $n; if {$n == 5} { set done 1 } else { after 1 [list tick [incr n]] } }
after 0 {tick 0}; vwait done
set r [catch {try {error "bad" "" {A B}} trap {A B} m {set sum [expr {$sum + [string length $m]}]; throw X again} finally {incr sum}} m o]
set i [interp create -safe]; interp alias $i up {} fib; puts [$i eval {up 12}]
oo::class create C { variable n; constructor x {set n $x}; method get {} {return $n}; method unknown args {return [llength $args]} }
set c [C new 7]; puts "$sum $m [$c get] [$c what 1 2]"
puts [regexp -all -inline {(\w)(\d)} "a1b2c3"]
