import std.stdio, std.algorithm, std.concurrency, core.thread;
class A { int f() { return 1; } } class B : A { override int f() { return 2; } }
interface I { int g(); } class C : B, I { int g() { return 3; } override int f() { return 4; } }
void worker(Tid t) { t.send(5); }
void main() {
  A[] all = [new A, new B, new C]; int s; foreach (a; all) s += a.f();
  I i = cast(I) all[2]; s += i.g();
  try { throw new Exception("x"); } catch (Exception e) { s++; }
  auto fib = new Fiber({ foreach (k; 0 .. 3) { s += k; Fiber.yield(); } }); foreach (k; 0 .. 4) if (fib.state != Fiber.State.TERM) fib.call();
  spawn(&worker, thisTid); receive((int v) { s += v; });
  auto d = delegate(int x) { return x + s; }; writeln(d(1), [3,1,2].sort!((a, b) => a < b));
}
