// Workers, shared memory, WebAssembly that calls back and traps, stack overflows that are caught, generators, proxies, vm, child processes.
const { Worker, isMainThread, parentPort, workerData } = require('worker_threads');
if (!isMainThread) {
  const a = new Int32Array(workerData);
  Atomics.add(a, 0, 5); Atomics.notify(a, 0);
  parentPort.postMessage(a[0]);
  if (a[0] > 14) throw new Error('in a worker');
} else {
  const deep = n => deep(n + 1) + 1;
  try { deep(0); } catch (e) { console.log(e.constructor.name); }
  // (import "e" "f" (func (param i32) (result i32))), fib by recursion, a call of f, unreachable, a table.
  const wasm = new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0, 1, 9, 2, 96, 1, 127, 1, 127, 96, 0, 0, 2, 7, 1, 1, 101, 1, 102, 0, 0, 3, 4, 3, 0, 0, 1, 7, 18, 3, 3, 102, 105, 98, 0, 1, 4, 99, 97, 108, 108, 0, 2, 1, 116, 0, 3, 10, 41, 3, 28, 0, 32, 0, 65, 2, 72, 4, 127, 32, 0, 5, 32, 0, 65, 1, 107, 16, 1, 32, 0, 65, 2, 107, 16, 1, 106, 11, 11, 6, 0, 32, 0, 16, 0, 11, 3, 0, 0, 11]);
  const made = new WebAssembly.Instance(new WebAssembly.Module(wasm), { e: { f: x => { if (x === 3) throw new RangeError('through wasm'); return x * 2; } } });
  console.log(made.exports.fib(20), made.exports.call(4));
  try { made.exports.call(3); } catch (e) { console.log(e.message); }
  try { made.exports.t(); } catch (e) { console.log(e.constructor.name); }
  function* g() { try { const x = yield 1; yield* [x, 3]; } finally { console.log('closed'); } }
  const i = g(); i.next(); i.next(5); i.return(9);
  const p = new Proxy({}, { get: (_, k) => k.length, has: () => true });
  console.log(p.hello, 'x' in p, Reflect.ownKeys({ a: 1 }));
  console.log(require('vm').runInNewContext('x * 2', { x: 21 }), eval('1 + 1'), new Function('a', 'return a')(3));
  console.log('a1b2'.replace(/\d/g, d => d * 2), /(?<=a)(b+)+c/.exec('abbbc')[1]);
  console.log([3, 1, 2].sort((a, b) => a - b), JSON.stringify({ toJSON() { return [1n].map(Number); } }));
  try { [3, 1, 2].sort(() => { throw 5; }); } catch (e) { console.log(e); }
  let hot = 0; for (let k = 0; k < 300000; k++) hot = (hot + (k & 1 ? k : k * 1.5)) % 1000; console.log(hot);
  const f = (o) => o.x; for (let k = 0; k < 20000; k++) f({ x: k }); f({ y: 1, x: 'deopt' }); f(new (class { get x() { return 1; } })());
  const shared = new SharedArrayBuffer(4); const a = new Int32Array(shared);
  let left = 3; for (let k = 0; k < 3; k++) new Worker(__filename, { workerData: shared }).on('error', e => console.log(e.message)).on('exit', () => { if (--left === 0) end(); });
  const end = () => {
    process.on('SIGUSR2', () => { console.log('signal'); require('child_process').exec('echo sub', (e, out) => console.log(out)); }); process.kill(process.pid, 'SIGUSR2'); setTimeout(() => 0, 50);
    require('zlib').gzip('x'.repeat(1000), (e, b) => console.log(b.length > 10)); require('crypto').pbkdf2('a', 'b', 10, 16, 'sha1', (e, k) => console.log(k.length)); new FinalizationRegistry(() => 0).register({}, 0);
    process.on('uncaughtException', e => console.log('uncaught', e.message)); process.nextTick(() => { throw new Error('tick'); });
  };
}
