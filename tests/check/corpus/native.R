# C that calls R that fails, and is unwound through; external pointers; sorting with a function.
dyn.load("native.so")
print(.Call("apply", function(x) x * 2, 21, environment()))
print(tryCatch(.Call("apply", function(x) stop("through C"), 1, environment()), error = function(e) conditionMessage(e)))
for (i in 1:60) f <- local({ n <- i; function() n })
nest <- function(n) if (n == 0) stop("bottom") else tryCatch(.Call("apply", function(x) nest(n - 1), 1, environment()), warning = function(w) 0)
print(tryCatch(nest(45), error = function(e) "forty-five"))
print(.Call("guarded", function() stop("cleaned"), environment()))
