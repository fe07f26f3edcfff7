deep <- function(n) if (n == 0) stop("deep") else deep(n - 1) + 1
for (i in 1:5) print(tryCatch(deep(i * 10), error = function(e) conditionMessage(e), finally = cat("f")))
withCallingHandlers({ warning("w"); cat("after\n") }, warning = function(w) invokeRestart("muffleWarning"))
print(withRestarts(invokeRestart("mine", 5), mine = function(x) x * 2))
f <- function() { on.exit(cat("exit\n")); for (i in 1:3) { if (i == 2) next; g <- function() return(i); if (g() == 3) break }; repeat { return(invisible(7)) } }
print(f())
print(sapply(split(1:10, rep(1:2, 5)), function(x) sum(Filter(function(y) y %% 2 == 0, x))))
print(Reduce(`+`, 1:5, accumulate = TRUE)); print(do.call(rbind, lapply(1:2, function(i) c(i, i^2))))
e <- quote(a + b * 2); print(eval(e, list(a = 1, b = 3))); print(regmatches("a1b22", gregexpr("[0-9]+", "a1b22")))
setClass("P", representation(x = "numeric")); setGeneric("area", function(o) standardGeneric("area")); setMethod("area", "P", function(o) o@x^2); print(area(new("P", x = 3)))
print(optimize(function(x) (x - 1)^2, c(0, 3))$minimum); print(integrate(dnorm, -1, 1)$value); print(sort(c(3, 1, 2), decreasing = TRUE))
r <- try(log(-1:"a"), silent = TRUE); print(class(r)); print(system("echo child", intern = TRUE)); print(callCC(function(k) { k(4); 5 }))
x <- lm(mpg ~ wt, mtcars); print(round(coef(x), 2)); delayedAssign("lazy", {cat("forced\n"); 3}); print(lazy + lazy)
print(tryCatch({ f <- function(n) f(n + 1); f(1) }, error = function(e) "deep"))
