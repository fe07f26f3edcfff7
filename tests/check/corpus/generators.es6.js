function* walk(n) { try { for (let i = 0; i < n; i++) yield i; } finally { console.log("left"); } }
for (const x of walk(10)) if (x === 5) break;
console.log([...walk(3)].length);
async function later(n) { if (n === 0) throw new Error("later"); return 1 + await later(n - 1); }
later(20).catch(e => console.log(e.message));
const p = new Proxy({}, { get: (t, k) => k });
console.log(p.anything);
class A { constructor(x) { this.x = x; } get y() { return this.x * 2; } static make() { return new this(21); } }
class B extends A { get y() { return super.y; } }
console.log(B.make().y);
console.log(new Map([[1, 2]]).get(1), [1, [2, [3]]].flat(Infinity).length);
