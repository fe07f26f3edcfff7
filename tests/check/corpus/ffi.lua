-- LuaJIT: C functions, callbacks from C, errors through them, finalizers, traces that are compiled.
local ffi = require("ffi")
ffi.cdef [[
typedef int (*compare)(const int*, const int*);
void qsort(int*, size_t, size_t, compare);
double cos(double);
int snprintf(char*, size_t, const char*, ...);
typedef struct { double x, y; } point;
]]
local list = ffi.new("int[6]", { 5, 3, 9, 1, 7, 2 })
local f = ffi.cast("compare", function(a, b) return a[0] - b[0] end)
ffi.C.qsort(list, 6, 4, f)
f:free()
for i = 0, 5 do io.write(list[i], " ") end
print(ffi.C.cos(0))
local mt = ffi.metatype("point", { __add = function(a, b) return ffi.new("point", a.x + b.x, a.y + b.y) end, __index = { norm = function(p) return p.x * p.x + p.y * p.y end } })
local p = mt(0, 0)
for i = 1, 2000 do p = p + mt(i, 1) end
print(p:norm())
local buf = ffi.new("char[64]")
for i = 1, 300 do ffi.C.snprintf(buf, 64, "%d %s", ffi.new("int", i), "x") end
print(ffi.string(buf))
print(pcall(function() local t for i = 1, 200 do if i == 150 then t.x = 1 end end end))
print(xpcall(function() error({}) end, function(e) return type(e) end))
local co = coroutine.wrap(function() for i = 1, 1000 do coroutine.yield(i) end error("end") end)
local s = 0
for i = 1, 1000 do s = s + co() end
print(s, pcall(co))
local function deep(n) return deep(n + 1) + 1 end
print((pcall(deep, 1)))
ffi.gc(ffi.new("point"), function() end)
collectgarbage()
print(#string.dump(deep) > 0, loadstring("return ...")(5), tostring(2 ^ 53))
