// Stack overflows and null pointers that are caught, exceptions through reflection and lambdas, threads, locks, interrupts,
// method handles, proxies, hot loops that are compiled and undone, finalizers, processes.
import java.lang.invoke.*;
import java.lang.reflect.*;
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.*;
import java.util.function.*;

public class Threads {
  interface Shape { int area(int k); }
  static class Square implements Shape { public int area(int k) { return k * k; } }
  static class Wide implements Shape { public int area(int k) { return 3 * k; } }
  static int deep(int n) { return deep(n + 1) + 1; }
  static int thrower(int n) { if (n % 1000 == 999) throw new IllegalStateException("n" + n); return n; }
  static void fails() { throw new IllegalArgumentException("reflected"); }
  public static void main(String[] args) throws Throwable {
    try { deep(0); } catch (StackOverflowError e) { System.out.println("overflow"); }
    String nothing = args.length > 5 ? "x" : null;
    int caught = 0;
    for (int i = 0; i < 5000; i++) try { thrower(i); if (i % 500 == 0) nothing.length(); } catch (NullPointerException | IllegalStateException e) { caught++; }
    System.out.println(caught);
    try { Threads.class.getDeclaredMethod("fails").invoke(null); } catch (InvocationTargetException e) { System.out.println(e.getCause().getMessage()); }
    MethodHandle h = MethodHandles.lookup().findStatic(Threads.class, "thrower", MethodType.methodType(int.class, int.class));
    System.out.println((int) h.invokeExact(5));
    Shape p = (Shape) Proxy.newProxyInstance(Threads.class.getClassLoader(), new Class<?>[] {Shape.class}, (o, m, a) -> (Integer) a[0] + 1);
    System.out.println(p.area(4));
    Shape[] shapes = {new Square(), new Square()};
    long sum = 0;
    for (int i = 0; i < 60000; i++) sum += shapes[i & 1].area(i & 7);
    shapes[1] = new Wide();
    for (int i = 0; i < 60000; i++) sum += shapes[i & 1].area(i & 7);
    System.out.println(sum);
    ExecutorService pool = Executors.newFixedThreadPool(3);
    List<Future<Integer>> all = new ArrayList<>();
    for (int i = 0; i < 6; i++) { final int n = i; all.add(pool.submit(() -> { if (n == 3) throw new Exception("task"); return n; })); }
    for (Future<Integer> f : all) try { System.out.println(f.get()); } catch (ExecutionException e) { System.out.println(e.getCause().getMessage()); }
    pool.shutdown();
    Thread t = new Thread(() -> { try { Thread.sleep(10000); } catch (InterruptedException e) { System.out.println("interrupted"); } });
    t.start(); t.interrupt(); t.join();
    Object lock = new Object(); AtomicInteger n = new AtomicInteger(); Thread[] ts = new Thread[4];
    for (int i = 0; i < 4; i++) { ts[i] = new Thread(() -> { for (int k = 0; k < 500; k++) synchronized (lock) { n.incrementAndGet(); } }); ts[i].start(); }
    for (Thread x : ts) x.join();
    System.out.println(n + " " + CompletableFuture.supplyAsync(() -> 20).thenApply(x -> x + 1).get());
    System.out.println(new String(new ProcessBuilder("echo", "sub").start().getInputStream().readAllBytes()));
    byte[][] room = new byte[1][]; try { for (;;) room[0] = new byte[Integer.MAX_VALUE]; } catch (OutOfMemoryError e) { System.out.println("memory"); }
    System.gc(); switch ("abc") { case "abc": System.out.println("switch"); }
    Runtime.getRuntime().addShutdownHook(new Thread(() -> System.out.println("bye")));
  }
}
