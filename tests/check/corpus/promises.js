const { Worker, isMainThread, parentPort } = require("worker_threads");
if (!isMainThread) { parentPort.postMessage(1 + 1); return; }
function deep(n) { if (n === 0) throw new Error("deep"); return deep(n - 1) + 1; }
for (let i = 0; i < 200; i++) { try { deep(i % 20); } catch (e) { } finally { } }
function* gen() { try { for (let i = 0; ; i++) yield i; } finally { console.log("closed"); } }
for (const x of gen()) if (x > 3) break;
(async () => {
  console.log(await Promise.allSettled([1, Promise.reject(new Error("r")), (async () => { await null; throw 3; })()]));
  for await (const x of (async function* () { yield 1; yield 2; })()) console.log(x);
  console.log("abc".replace(/(.)(?=c)/g, (m) => m.toUpperCase()), [3, 1, 2].sort((a, b) => b - a));
  const p = new Proxy({}, { get: (_, k) => k, has: () => true }); console.log(p.foo, "x" in p);
  console.log(new Function("a", "return a * 2")(21), eval("let q = 5; q + 1"), require("vm").runInNewContext("1 + x", { x: 2 }));
  const m = new WebAssembly.Module(Uint8Array.from([0, 97, 115, 109, 1, 0, 0, 0, 1, 7, 1, 96, 2, 127, 127, 1, 127, 3, 2, 1, 0, 7, 7, 1, 3, 97, 100, 100, 0, 0, 10, 9, 1, 7, 0, 32, 0, 32, 1, 106, 11]));
  console.log(new WebAssembly.Instance(m).exports.add(2, 3), JSON.stringify({ a: [1n].map(Number) }), require("zlib").gzipSync("a").length);
  await new Promise((r) => new Worker(__filename).on("message", console.log).on("exit", r));
  console.log(require("child_process").execSync("echo child").toString(), require("crypto").createHash("sha256").update("a").digest("hex").slice(0, 4));
  process.once("SIGUSR1", () => console.log("usr1")); process.kill(process.pid, "SIGUSR1"); await new Promise((r) => setTimeout(r, 20));
  let s = 0; for (let i = 0; i < 3e5; i++) s = (s + i * i) % 1000003; console.log(s);
  try { (function f() { f(); })(); } catch (e) { console.log(e instanceof RangeError); }
})();
