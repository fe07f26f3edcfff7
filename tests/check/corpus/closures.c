// libffi: closures that C calls, closures of closures, calls of functions with structures
#include <ffi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct pair {
  double a;
  long b;
};
static struct pair make(double a, long b) { return (struct pair){a, b}; }
static void compare(ffi_cif* cif, void* ret, void** args, void* data) {
  (*(int*)data)++;
  *(ffi_arg*)ret = **(int**)args[0] - **(int**)args[1];
}
int main(void) {
  ffi_cif cif, made;
  void* code;
  int calls = 0;
  ffi_type* args[] = {&ffi_type_pointer, &ffi_type_pointer};
  ffi_prep_cif(&cif, FFI_DEFAULT_ABI, 2, &ffi_type_sint, args);
  ffi_closure* closure = ffi_closure_alloc(sizeof *closure, &code);
  ffi_prep_closure_loc(closure, &cif, compare, &calls, code);
  int v[] = {5, 3, 1, 4, 2};
  qsort(v, 5, sizeof *v, (int (*)(const void*, const void*))code);
  printf("%d %d %d\n", v[0], v[4], calls > 4);
  ffi_type* parts[] = {&ffi_type_double, &ffi_type_slong, 0};
  ffi_type pair = {0, 0, FFI_TYPE_STRUCT, parts}, *in[] = {&ffi_type_double, &ffi_type_slong};
  ffi_prep_cif(&made, FFI_DEFAULT_ABI, 2, &pair, in);
  double a = 1.5;
  long b = 7;
  void* values[] = {&a, &b};
  struct pair out;
  ffi_call(&made, (void (*)(void))make, &out, values);
  printf("%g %ld\n", out.a, out.b);
  ffi_closure_free(closure);
  return 0;
}
