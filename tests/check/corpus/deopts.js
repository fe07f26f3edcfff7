// Functions that are compiled for what they have seen, and then see something else.
function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
const counts = new Map();
for (let i = 0; i < 60000; i++) {
  const key = "k" + (i % 5000);
  counts.set(key, (counts.get(key) || 0) + i);
}
class Point { constructor(x) { this.x = x; } get twice() { return this.x * 2; } }
class Other extends Point { get twice() { return this.x + 0.5; } }
const sum = (points) => { let s = 0; for (const p of points) s += p.twice; return s; };
const points = Array.from({ length: 2000 }, (_, i) => new Point(i));
for (let i = 0; i < 100; i++) sum(points);
points.push(new Other(5));
const add = (a, b) => a + b;
for (let i = 0; i < 50000; i++) add(i, 1);
let n = 0x7fffff00;
for (let i = 0; i < 20000; i++) n = n + 1;
console.log(fib(20), [...counts.values()].sort((a, b) => a - b)[100], sum(points), add("a", 1), add(2n, 3n), n);
