import std.stdio, std.algorithm, std.range, std.exception, core.thread, std.concurrency, std.parallelism;
class Shape { double area() { return 0; } }
class Square : Shape { double s = 2; override double area() { return s * s; } ~this() {} }
int deep(int n) { scope(exit) count++; scope(failure) failed++; if (n == 0) throw new Exception("deep"); return deep(n - 1) + 1; }
int count, failed;
void worker(Tid owner) { try { deep(3); } catch (Exception e) { owner.send(e.msg); } }
void main() {
  foreach (i; 0 .. 5) try deep(i * 10); catch (Exception e) write(e.msg); 
  spawn(&worker, thisTid); writeln(receiveOnly!string());
  Shape s = new Square; writeln(s.area, iota(10).filter!(x => x % 2).map!(x => x * x).sum);
  auto f = new Fiber({ foreach (i; 0 .. 3) { Fiber.yield(); } throw new Exception("fiber"); });
  foreach (i; 0 .. 3) f.call(); try f.call(); catch (Exception e) writeln(e.msg);
  int base = 4; auto d = delegate int(int x) { return x + base; }; writeln(d(1), taskPool.reduce!"a + b"(iota(100)));
  writeln(collectExceptionMsg(enforce(false, "enforced"))); auto g = generate!(() => base++).take(3).array; writeln(g);
  int[string] m = ["a": 1]; try { foreach (k, v; m) { if (v == 1) throw new Exception(k); } } catch (Exception e) writeln(e.msg);
  try { throw new Error("error"); } catch (Error e) writeln(e.msg); (cast(void delegate()) { destroy(s); })();
}
