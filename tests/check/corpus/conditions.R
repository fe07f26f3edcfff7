f <- function(n) if (n==0) stop("x") else f(n-1)
for (i in 1:5) tryCatch(f(i), error=function(e) cat("e"), finally=cat("f\n"))
print(withCallingHandlers(sapply(1:5, function(x) x^2), warning=function(w) invokeRestart("muffleWarning")))
g <- function() { on.exit(cat("bye\n")); for (i in 1:10) if (i==3) return(i) }
print(g()); print(do.call(rbind, lapply(1:3, function(i) c(i, i*2))))
print(Reduce(`+`, 1:10, accumulate=TRUE)); print(summary(lm(dist~speed, cars))$r.squared)
r <- callCC(function(k) { lapply(1:5, function(i) if (i==3) k(i)); 0 }); print(r)
e <- quote(a+b); print(eval(e, list(a=1,b=2))); repeat { break }; print(try(log(-1), silent=TRUE))
