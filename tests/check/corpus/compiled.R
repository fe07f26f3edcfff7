# A function of C++ that R compiles and loads, and that throws through R.
library(Rcpp); cppFunction('int f(int n){ if(n<0) stop("neg"); return n*2; }'); print(f(4)); print(tryCatch(f(-1), error=function(e) conditionMessage(e)))
