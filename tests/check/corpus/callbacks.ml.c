#include <caml/callback.h>
#include <caml/memory.h>
#include <caml/mlvalues.h>
value apply(value f, value x) {
  CAMLparam2(f, x);
  CAMLlocal1(r);
  r = caml_callback(f, x);
  CAMLreturn(r);
}
value twice(value f, value x) {
  CAMLparam2(f, x);
  value r = caml_callback_exn(f, x);
  if (!Is_exception_result(r)) r = caml_callback_exn(f, r);
  CAMLreturn(Is_exception_result(r) ? Val_int(0) : r);
}
