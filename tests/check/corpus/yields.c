#include <lauxlib.h>
#include <lualib.h>
#include <stdio.h>
static int again(lua_State* L, int status, lua_KContext n) {
  if (n == 3) return luaL_error(L, "three");
  lua_pushinteger(L, n);
  return lua_yieldk(L, 1, n + 1, again);
}
static int start(lua_State* L) { return again(L, LUA_OK, 0); }
int main(void) {
  lua_State* L = luaL_newstate();
  luaL_openlibs(L);
  lua_register(L, "start", start);
  if (luaL_dostring(
          L,
          "local s = 0 for v in coroutine.wrap(function() pcall(start) coroutine.yield(10) end) do s = s + v end "
          "print(s, pcall(error, {}), select('#', table.unpack({1, 2, 3})), string.gsub('abc', '%w', function(c) return c:upper() end))"))
    puts(lua_tostring(L, -1));
  lua_close(L);
  return 0;
}
