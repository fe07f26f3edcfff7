-- Errors through coroutines and metamethods, pcall in coroutines, closing, gsub callbacks, string dumps, sorting, wrap.
local function deep(n) if n == 0 then error({code = 7}) end return deep(n - 1) + 1 end
for i = 1, 5 do print(pcall(deep, i * 20)) end
print(xpcall(deep, function(e) return e.code + 1 end, 3))
local co = coroutine.wrap(function(a) for i = 1, 3 do local ok, e = pcall(function() a = coroutine.yield(i) error("in " .. i) end) print(ok, e) end return "end" end)
for i = 1, 4 do print(co(i)) end
local mt = {__index = function(t, k) return k .. "!" end, __add = function(a, b) return coroutine.isyieldable() end, __call = function(self, x) return x * 2 end, __lt = function() return true end, __gc = function() end}
local o = setmetatable({}, mt)
print(o.x, o + o, o(21), o < o)
print(("abc"):gsub("%w", function(c) if c == "b" then return nil end return c:upper() end))
local t = {5, 2, 4} table.sort(t, function(a, b) return a > b end) print(table.concat(t, ","))
local f = (loadstring or load)(string.dump(function(x) return x + 1 end)) print(f(1))
print(pcall(string.rep), pcall(error), select("#", pcall(error, nil)))
local function tail(n) if n == 0 then return "tail" end return tail(n - 1) end print(tail(1000))
local gen = coroutine.create(function() local inner = coroutine.create(function() coroutine.yield(1) error("inner") end) coroutine.resume(inner) print(coroutine.resume(inner)) coroutine.yield(2) end)
print(coroutine.resume(gen), coroutine.status(gen), coroutine.resume(gen), coroutine.status(gen))
for w in ("a b c"):gmatch("%a") do io.write(w, " ") end print()
print(pcall(function() return setmetatable({}, {__index = function(_, k) error(k) end}).foo end))
print(select(2, pcall(function() local function r() return 1 + r() end return r() end)) ~= nil)
collectgarbage()
debug.sethook(function() end, "crl") local x = 0 for i = 1, 10 do x = x + i end debug.sethook() print(x)
