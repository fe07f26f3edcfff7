// LuaJIT, whose errors are exceptions that end in a protected call of C's, with other calls of its
// interpreter below; the headers are not needed.
#include <stdio.h>

typedef struct lua_State lua_State;
lua_State* luaL_newstate(void);
void luaL_openlibs(lua_State*);
int luaL_loadstring(lua_State*, const char*);
int lua_pcall(lua_State*, int, int, int);
void lua_pushcclosure(lua_State*, int (*)(lua_State*), int);
void lua_setfield(lua_State*, int, const char*);
void lua_settop(lua_State*, int);

static int fails(lua_State* l) {
  const int status = luaL_loadstring(l, "local t = nil; return t.x") || lua_pcall(l, 0, 0, 0);
  lua_settop(l, 0);
  return status ? 0 : 1;
}

int main(void) {
  lua_State* l = luaL_newstate();
  luaL_openlibs(l);
  lua_pushcclosure(l, fails, 0);
  lua_setfield(l, -10002, "fails");
  return luaL_loadstring(
             l,
             "local function deep(n) if n > 0 then deep(n - 1) end fails() end\n"
             "for i = 1, 9 do deep(i) end\n"
             "local c = coroutine.wrap(function() deep(2); coroutine.yield(1); error('c') end)\n"
             "c(); assert(not pcall(c))\n"
             "table.sort({3, 1, 2}, function(a, b) fails(); return a < b end) print('ok')") ||
         lua_pcall(l, 0, 0, 0);
}
