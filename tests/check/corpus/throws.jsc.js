// Exceptions that are caught frames further out, by JavaScriptCore's interpreter and its code.
function deep(n) {
  if (n === 0) throw new Error("deep");
  return deep(n - 1) + 1;
}
let caught = 0;
for (let i = 0; i < 300; i++) {
  try {
    deep(50);
  } catch (e) {
    caught++;
  }
}
function endless() {
  return endless() + 1;
}
try {
  endless();
} catch (e) {
  print(e instanceof RangeError, caught);
}
function* numbers() {
  try {
    for (let i = 0; i < 5; i++) yield i;
  } finally {
    print("left");
  }
}
for (const n of numbers()) if (n === 3) break;
(async () => {
  try {
    await Promise.reject(new Error("rejected"));
  } catch (e) {
    print(e.message);
  }
})();
try {
  [3, 1, 2].sort(() => { throw new Error("native between"); });
} catch (e) {
  print(e.message);
}
print("aXbX".replace(/X/g, () => "y"), JSON.stringify({ a: [1, { b: 2 }] }), eval("1 + 1"));
