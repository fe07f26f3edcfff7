#include <Rinternals.h>
SEXP apply(SEXP f, SEXP x, SEXP env) {
  SEXP call = PROTECT(Rf_lang2(f, x));
  SEXP out = Rf_eval(call, env);
  UNPROTECT(1);
  return out;
}
SEXP guarded(SEXP f, SEXP env) {
  int failed = 0;
  SEXP call = PROTECT(Rf_lang1(f));
  R_tryEval(call, env, &failed);
  UNPROTECT(1);
  return Rf_ScalarInteger(failed);
}
