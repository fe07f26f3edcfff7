// Exceptions, threads, destructors, backtraces, signals and functions made at run time.
class Guard { void destroy() { write("gone "); } }
int deep(int n) { if (!n) error("deep\n"); return deep(n - 1) + 1; }
function counter() { int i; return lambda() { return i++; }; }
int main() {
  mixed e = catch { Guard g = Guard(); deep(50); };
  write("%s", describe_error(e));
  for (int i = 0; i < 20; i++) catch { throw(({ "x", backtrace() })); };
  array(Thread.Thread) t = map(enumerate(4), lambda(int n) { return Thread.Thread(lambda() { return catch { deep(n); } ? n : 0; }); });
  write("%d\n", Array.sum(t->wait()));
  function c = counter(); c(); c();
  write("%d %O\n", c(), sort(({ 3, 1, 2 })));
  program p = compile_string("int f(int x) { return x * 7; }");
  write("%d\n", p()->f(6));
  write("%s\n", Regexp("a(b+)")->split("xabbb")[0]);
  return 0;
}
