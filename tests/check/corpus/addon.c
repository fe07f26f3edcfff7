// Node: an addon that calls back, throws, works in other threads
#include <node_api.h>
#include <stdlib.h>
#include <string.h>
#define OK(x) \
  if ((x) != napi_ok) abort()
static napi_value twice(napi_env env, napi_callback_info info) {
  size_t n = 2;
  napi_value a[2], r, g;
  double v = 0;
  OK(napi_get_cb_info(env, info, &n, a, 0, 0));
  OK(napi_get_global(env, &g));
  if (napi_call_function(env, g, a[0], 1, &a[1], &r) != napi_ok) return 0;
  OK(napi_get_value_double(env, r, &v));
  OK(napi_create_double(env, v * 2, &r));
  return r;
}
static napi_value fail(napi_env env, napi_callback_info info) {
  napi_throw_error(env, 0, "failed");
  return 0;
}
struct work {
  napi_async_work work;
  napi_deferred deferred;
  int value;
};
static void execute(napi_env env, void* data) { ((struct work*)data)->value = 42; }
static void complete(napi_env env, napi_status s, void* data) {
  struct work* w = data;
  napi_value v;
  napi_create_int32(env, w->value, &v);
  napi_resolve_deferred(env, w->deferred, v);
  napi_delete_async_work(env, w->work);
  free(w);
}
static napi_value later(napi_env env, napi_callback_info info) {
  struct work* w = calloc(1, sizeof *w);
  napi_value p, name;
  OK(napi_create_promise(env, &w->deferred, &p));
  OK(napi_create_string_utf8(env, "work", 4, &name));
  OK(napi_create_async_work(env, 0, name, execute, complete, w, &w->work));
  OK(napi_queue_async_work(env, w->work));
  return p;
}
NAPI_MODULE_INIT() {
  napi_value f;
  napi_create_function(env, "twice", 5, twice, 0, &f);
  napi_set_named_property(env, exports, "twice", f);
  napi_create_function(env, "fail", 4, fail, 0, &f);
  napi_set_named_property(env, exports, "fail", f);
  napi_create_function(env, "later", 5, later, 0, &f);
  napi_set_named_property(env, exports, "later", f);
  return exports;
}
