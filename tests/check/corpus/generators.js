// Plain JavaScript for QuickJS, Duktape, MuJS, SpiderMonkey: exceptions, closures, sorting by functions
var say = typeof print === "function" ? print : console.log;
function deep(n) { if (n === 0) throw new Error("deep"); return deep(n - 1) + 1; }
var hits = 0;
for (var i = 0; i < 300; i++) { try { deep(i % 20); } catch (e) { hits++; } finally { hits += 0; } }
say(hits);
function fib(n) { return n < 2 ? 1 : fib(n - 1) + fib(n - 2); }
say(fib(18));
say([5, 3, 1, 4].sort(function (a, b) { return a - b; }).join());
say("abc abd".replace(/ab(.)/g, function (m, c) { return c.toUpperCase(); }));
try { (function f() { f(); })(); } catch (e) { say("overflow"); }
var total = 0;
for (var k = 0; k < 50000; k++) { total = (total + k * k) % 1000; }
say(total);
say(JSON.stringify(JSON.parse('{"a": [1, 2, {"b": null}]}')));
