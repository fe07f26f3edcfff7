import core.thread, std.stdio, std.concurrency, std.algorithm, std.range;
class Bad : Exception { this(string m) { super(m); } }
void worker(int n) { int s; foreach (i; 0 .. n) { try { if (i % 3 == 0) throw new Bad("x"); s += i; } catch (Bad b) { s += cast(int) b.msg.length; } } ownerTid.send(s); }
void main() {
  int sum; foreach (i; 1 .. 4) spawn(&worker, i * 10); foreach (i; 1 .. 4) sum += receiveOnly!int();
  auto g = new Generator!int({ foreach (i; 0 .. 5) { scope (exit) sum++; yield(i); } });
  foreach (x; g) sum += x;
  auto f = new Fiber({ try { Fiber.yield(); throw new Bad("deep"); } finally { sum += 100; } });
  f.call(); try f.call(); catch (Bad b) sum += 1000;
  writeln(sum, " ", iota(10).map!(a => a * a).filter!(a => a % 2).sum);
}
