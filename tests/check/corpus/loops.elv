# An exception, and a pipe of values.
for x [a b] { echo $x }; try { fail x } catch e { echo caught }; range 5 | each {|x| + $x 1 }
