class Work {
  static function deep(n:Int):Int { if (n == 0) throw "deep"; return deep(n - 1) + 1; }
  static function fib(n:Int):Int return n < 2 ? 1 : fib(n - 1) + fib(n - 2);
  static function main() {
    var hits = 0;
    for (i in 0...100) { try { deep(i % 20); } catch (e:Dynamic) { hits++; } }
    trace(hits);
    trace(fib(17));
    var a = [3, 1, 2]; a.sort(function(x, y) return x - y); trace(a);
    trace(~/a(b+)/.match("xabb"));
    var lock = new sys.thread.Lock();
    for (i in 0...3) sys.thread.Thread.create(() -> { try deep(i) catch (e:Dynamic) {}; lock.release(); });
    for (i in 0...3) lock.wait();
    trace("done");
  }
}
