// A benchmark for node: functions that its JIT compiles while it runs, maps, strings, sorting,
// classes with one method in several forms. Prints one line that depends on all of it.
"use strict";

class Shape {
  constructor(size) { this.size = size; }
}
class Square extends Shape {
  area() { return this.size * this.size; }
}
class Circle extends Shape {
  area() { return Math.floor(3.14159 * this.size * this.size); }
}
class Triangle extends Shape {
  area() { return (this.size * this.size) >> 1; }
}

function makeRandom(seed) {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
    return state % below;
  };
}

function areas(random, count) {
  const kinds = [Square, Circle, Triangle];
  let sum = 0;
  for (let i = 0; i < count; ++i) {
    const shape = new kinds[random(3)](random(100));
    sum = (sum + shape.area()) | 0;
  }
  return sum;
}

function words(random, count) {
  const seen = new Map();
  for (let i = 0; i < count; ++i) {
    const word = "w" + random(5000).toString(36);
    seen.set(word, (seen.get(word) || 0) + 1);
  }
  return [...seen].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).slice(0, 3).join(" ");
}

// A recursive-descent reader of sums and products.
function evaluate(text) {
  let at = 0;
  const atom = () => {
    if (text[at] === "(") {
      ++at;
      const inner = sum();
      ++at;
      return inner;
    }
    let value = 0;
    while (text[at] >= "0" && text[at] <= "9") value = value * 10 + (text.charCodeAt(at++) - 48);
    return value;
  };
  const product = () => {
    let value = atom();
    while (text[at] === "*") ++at, value = (value * atom()) % 1000003;
    return value;
  };
  const sum = () => {
    let value = product();
    while (text[at] === "+") ++at, value = (value + product()) % 1000003;
    return value;
  };
  return sum();
}

function expression(random, depth) {
  if (depth === 0) return String(random(1000));
  const operator = random(2) === 0 ? "+" : "*";
  return "(" + expression(random, depth - 1) + operator + expression(random, depth - 1) + ")";
}

function primes(most) {
  const sieve = new Uint8Array(most + 1);
  let count = 0;
  for (let i = 2; i <= most; ++i) {
    if (sieve[i]) continue;
    ++count;
    for (let k = i * 2; k <= most; k += i) sieve[k] = 1;
  }
  return count;
}

const random = makeRandom(7);
let total = 0;
for (let round = 0; round < 60; ++round) {
  total = (total + areas(random, 200000)) | 0;
  for (let i = 0; i < 40; ++i) total = (total + evaluate(expression(random, 9))) | 0;
}
console.log(total, words(random, 400000), primes(3000000));
