using System; using System.Linq; using System.Threading; using System.Collections.Generic;
interface I { int F(); } class A : I { public virtual int F() => 1; } class B : A { public override int F() => 2; }
class P { static IEnumerable<int> G() { yield return 1; yield return 2; }
 static void Main() { int s = 0; foreach (I i in new I[]{new A(), new B()}) s += i.F(); try { throw new Exception("x"); } catch (Exception) { s++; } finally { s++; }
 var t = new Thread(() => Interlocked.Add(ref s, 5)); t.Start(); t.Join(); Func<int,int> f = x => x + s; Console.WriteLine(f(1) + " " + G().Select(x => x * 2).Sum()); } }
