const a = require(process.argv[2]);
console.log(a.twice(x => x + 1, 20));
try { a.twice(() => { throw new Error("inside"); }, 1); } catch (e) { console.log(e.message); }
try { a.fail(); } catch (e) { console.log(e.message); }
a.later().then(v => console.log(v));
let s = 0; for (let i = 0; i < 20000; i++) s += a.twice(x => x, 1); console.log(s);
