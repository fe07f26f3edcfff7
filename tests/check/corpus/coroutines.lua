local function f(n) if n==0 then error("x") end return f(n-1)+1 end
for i=1,10 do pcall(f,i) end
local co=coroutine.wrap(function() for i=1,5 do coroutine.yield(i) end end)
for i=1,5 do io.write(co()," ") end
local t={} for i=1,2000 do t[i]=i*i end table.sort(t,function(a,b) return a>b end)
print(#t, string.rep("a",10):gsub("a","b"), select('#',1,2,3), tostring(setmetatable({}, {__tostring=function() return "mt" end})))
local s=0 for i=1,300000 do s=s+i%7 end print(s)
print(pcall(string.rep)) print(string.format("%5.2f %s %q",1.5,"a","b"))
