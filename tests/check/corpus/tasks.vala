// Vala: errors, signals of objects, asynchronous methods, closures, threads
errordomain Bad { DEEP }
class Thing : Object {
  public signal int asked (int n);
  public int value { get; set; }
  public virtual int area () { return value; }
}
class Other : Thing { public override int area () { return base.area () * 2; } }
int deep (int n) throws Bad { if (n == 0) throw new Bad.DEEP ("deep"); return deep (n - 1) + 1; }
async int later (int n) {
  for (int i = 0; i < n; i++) { Idle.add (later.callback); yield; }
  return n;
}
int main () {
  try { deep (50); } catch (Bad e) { stdout.printf ("%s\n", e.message); }
  var t = new Other ();
  int seen = 0;
  t.asked.connect ((n) => { seen += n; return n * 2; });
  t.notify["value"].connect (() => { seen++; });
  t.value = 4;
  stdout.printf ("%d %d %d\n", t.asked (3), seen, t.area ());
  var loop = new MainLoop ();
  later.begin (5, (o, r) => { stdout.printf ("%d\n", later.end (r)); loop.quit (); });
  loop.run ();
  var thread = new Thread<int> ("w", () => { return 42; });
  stdout.printf ("%d\n", thread.join ());
  Unix.signal_add (Posix.Signal.USR1, () => { stdout.printf ("signal\n"); loop.quit (); return false; });
  Posix.raise (Posix.Signal.USR1);
  loop.run ();
  return 0;
}
