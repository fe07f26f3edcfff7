# Loops and functions that are left from within calls that fail and were caught: jumps out of jumps.
repeat {
  r <- try(stop("q"), silent = TRUE)
  break
}
print(class(r))
nested <- function(n) {
  for (i in 1:3) {
    r <- tryCatch(if (n > 0) nested(n - 1) else stop("deep"), error = function(e) conditionMessage(e))
    if (i == 2) next
    r <- withCallingHandlers(
      tryCatch({ warning("w"); 1 }, warning = function(w) return(paste(r, n))),
      error = function(e) NULL)
    if (n %% 2 == 0) return(r)
  }
  r
}
print(nested(3))
leave <- function(k) { f <- function(g) { g(); 1 }; f(function() return(k)); f(function() k) }
out <- 0
for (k in 1:20) { out <- out + leave(k); if (out > 10) break }
print(out)
