// Exceptions from where V8 has no JavaScript of its own: functions that WebAssembly imports,
// builtins of generators, other contexts.
const vm = require('vm');

// (import "m" "f" (func (param i32) (result i32))) (func (export "g") (param i32) (result i32)
//   local.get 0 call 0)
const code = new Uint8Array([
  0, 97, 115, 109, 1, 0, 0, 0, 1, 6, 1, 96, 1, 127, 1, 127, 2, 7, 1, 1, 109, 1, 102, 0, 0, 3, 2, 1,
  0, 7, 5, 1, 1, 103, 0, 1, 10, 8, 1, 6, 0, 32, 0, 16, 0, 11]);

function imported() {
  const f = x => {
    if (x === 13) throw new Error('imported');
    return x * 3;
  };
  const {g} = new WebAssembly.Instance(new WebAssembly.Module(code), {m: {f}}).exports;
  let sum = 0;
  for (let i = 0; i < 200000; ++i) sum += g(i % 10);
  try {
    g(13);
  } catch (e) {
    sum += e.message;
  }
  return sum;
}

function thrownInto() {
  function* two() {
    try {
      yield 1;
      yield 2;
    } finally {
      ++ended;
    }
  }
  let ended = 0;
  for (let i = 0; i < 100; ++i) {
    const it = two();
    it.next();
    try {
      it.throw(new Error('thrown'));
    } catch (e) {
      ended += e.message.length;
    }
    for (const value of two()) if (value === 1) break;
  }
  return ended;
}

function inContexts() {
  const texts = [];
  for (const text of ['throw new TypeError("inner")', 'for (;;);']) {
    try {
      vm.runInContext(text, vm.createContext({}), {timeout: 50});
    } catch (e) {
      texts.push(e.code ?? e.message);
    }
  }
  return texts.join(' ');
}

console.log(imported(), thrownInto(), inContexts());
