using System; using System.Collections.Generic; using System.Linq; using System.Reflection.Emit; using System.Runtime.InteropServices; using System.Threading; using System.Threading.Tasks;
class P {
  [DllImport("libc")] static extern int strlen(string s);
  delegate int Order(IntPtr a, IntPtr b);
  [DllImport("libc")] static extern void qsort(int[] a, UIntPtr n, UIntPtr size, Order o);
  static int Deep(int n) { try { if (n == 0) throw new InvalidOperationException("deep"); return Deep(n - 1) + 1; } finally { count++; } }
  static int count;
  static IEnumerable<int> Gen() { for (int i = 0; i < 3; i++) yield return i; throw new Exception("end"); }
  static async Task<int> Work(int n) { await Task.Delay(1); if (n == 2) throw new Exception("task"); return n; }
  static void Main() {
    for (int i = 0; i < 5; i++) try { Deep(i * 5); } catch (InvalidOperationException e) when (e.Message == "deep") { Console.Write("c"); }
    try { foreach (int i in Gen()) Console.Write(i); } catch (Exception e) { Console.WriteLine(e.Message); }
    try { Task.WhenAll(Enumerable.Range(0, 4).Select(Work)).Wait(); } catch (AggregateException e) { Console.WriteLine(e.InnerException.Message); }
    try { string s = null; Console.WriteLine(s.Length); } catch (NullReferenceException) { Console.WriteLine("null"); }
    try { int z = count - count; Console.WriteLine(1 / z); } catch (DivideByZeroException) { Console.WriteLine("zero"); }
    var a = new[] { 3, 1, 2 };
    qsort(a, (UIntPtr)3, (UIntPtr)4, (x, y) => Marshal.ReadInt32(x) - Marshal.ReadInt32(y));
    Console.WriteLine(string.Join(",", a) + strlen("hello"));
    var m = new DynamicMethod("twice", typeof(int), new[] { typeof(int) });
    var g = m.GetILGenerator(); g.Emit(OpCodes.Ldarg_0); g.Emit(OpCodes.Ldc_I4_2); g.Emit(OpCodes.Mul); g.Emit(OpCodes.Ret);
    Console.WriteLine(((Func<int, int>)m.CreateDelegate(typeof(Func<int, int>)))(21));
    var t = new Thread(() => { try { Thread.Sleep(10000); } catch (ThreadAbortException) { Console.WriteLine("abort"); } });
    t.Start(); Thread.Sleep(20); t.Abort(); t.Join();
    dynamic d = "dyn"; Console.WriteLine(d.Length); GC.Collect(); GC.WaitForPendingFinalizers();
  }
}
