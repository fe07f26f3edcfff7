using System; using System.Collections.Generic; using System.Runtime.InteropServices; using System.Threading.Tasks;
class Invoke {
  delegate int Order(IntPtr a, IntPtr b);
  [DllImport("libc")] static extern void qsort(int[] array, IntPtr count, IntPtr size, Order order);
  [DllImport("libc")] static extern int abs(int n);
  static IEnumerable<int> Numbers(int n) { try { for (int i = 0; i < n; i++) yield return abs(-i); } finally { Console.WriteLine("end"); } }
  static async Task<int> Later(int n) { await Task.Delay(1); if (n == 3) throw new InvalidOperationException("three"); return n; }
  static void Main() {
    int[] a = {5, 3, 9, 1};
    qsort(a, (IntPtr)4, (IntPtr)4, (x, y) => Marshal.ReadInt32(x) - Marshal.ReadInt32(y));
    int sum = 0;
    foreach (int n in Numbers(10)) sum += n;
    for (int i = 0; i < 5; i++) try { sum += Later(i).Result; } catch (AggregateException e) { sum += e.InnerException.Message.Length; }
    Console.WriteLine(sum + " " + a[0]);
  }
}
