#include <erl_nif.h>
#include <unistd.h>
static ErlNifResourceType* type;
static void destroy(ErlNifEnv* env, void* what) { *(int*)what = 0; }
static int load(ErlNifEnv* env, void** data, ERL_NIF_TERM info) {
  type = enif_open_resource_type(env, 0, "t", destroy, ERL_NIF_RT_CREATE, 0);
  return 0;
}
static ERL_NIF_TERM add(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[]) {
  int a, b;
  if (!enif_get_int(env, argv[0], &a) || !enif_get_int(env, argv[1], &b))
    return enif_make_badarg(env);
  return enif_make_int(env, a + b);
}
static ERL_NIF_TERM slow(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[]) {
  usleep(1000);
  return argv[0];
}
static ERL_NIF_TERM make(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[]) {
  void* what = enif_alloc_resource(type, 4);
  ERL_NIF_TERM term = enif_make_resource(env, what);
  enif_release_resource(what);
  return term;
}
static ErlNifFunc functions[] = {
    {"add", 2, add}, {"slow", 1, slow, ERL_NIF_DIRTY_JOB_IO_BOUND}, {"make", 0, make}};
ERL_NIF_INIT(nif, functions, load, 0, 0, 0)
