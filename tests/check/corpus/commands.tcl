proc f {n} {if {$n == 0} {error boom}; f [expr {$n-1}]}
puts [catch {f 50} m]; coroutine c apply {{} {yield; for {set i 0} {$i < 3} {incr i} {yield $i}}}; puts [c][c]
oo::class create A {method x {} {return 1}}; puts [[A new] x]; puts [lsort -command {apply {{a b} {expr {$a-$b}}}} {3 1 2}]; puts [try {throw X y} trap X m {set m}]
