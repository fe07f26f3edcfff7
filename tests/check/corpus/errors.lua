-- Errors through pcall, C and coroutines; overflows of both stacks; to-be-closed variables; hooks; sandboxes; gsub with functions.
print(pcall(function() local function f() return f() + 1 end return f() end))
print(pcall(function() local s = string.rep("(", 300) .. string.rep(")", 300) return load("return " .. s) end))
do
  local ok, e = pcall(function()
    local x <close> = setmetatable({}, { __close = function() print("closed") end })
    error("left")
  end)
  print(ok, e)
end
local co = coroutine.create(function() local y <close> = setmetatable({}, { __close = function() print("co closed") end }) coroutine.yield(1) end)
coroutine.resume(co)
print(coroutine.close(co))
print(pcall(table.sort, { 3, 1, "x" }))
print(pcall(table.sort, { 3, 1, 2, 5, 4 }, function(a, b) if b == 5 then error("in sort") end return a < b end))
print(("abc"):gsub("%w", function(c) if c == "c" then return nil end return c:upper() end))
local n = 0
debug.sethook(function() n = n + 1 end, "l")
for i = 1, 10 do local x = i end
debug.sethook()
print(n > 10)
print(xpcall(function() error("deep") end, function(m) return #debug.traceback(m) > 10 end))
local w = coroutine.wrap(function(...) local a = ... while true do a = coroutine.yield(pcall(coroutine.yield, a)) end end)
print(w(1), w(2), w(3))
local function nest(k) if k == 0 then error({ code = 7 }) end local ok, e = pcall(nest, k - 1) error(e) end
print(select(2, pcall(nest, 100)).code)
print(pcall(function() for i = 1, 300 do coroutine.wrap(function() local function r(d) if d == 0 then return 1 end return coroutine.wrap(r)(d - 1) end return r(50) end)() end end))
goto done
::done::
print(load("return 1 +"), math.type(1 // 1), 7 // 2, 1 << 62, string.pack("i4", 100):byte(1, -1))
setmetatable({}, { __gc = function() print("gc") end })
collectgarbage()
