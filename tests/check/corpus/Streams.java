import java.lang.invoke.*; import java.lang.reflect.*; import java.util.*; import java.util.concurrent.*; import java.util.function.*; import java.util.stream.*;
public class Streams {
  static int deep(int n) { try { if (n == 0) throw new IllegalStateException("deep"); return deep(n - 1) + 1; } finally { count++; } }
  static int count;
  interface Shape { double area(); default String name() { return "shape"; } }
  record Square(double s) implements Shape { public double area() { return s * s; } }
  public static void main(String[] a) throws Throwable {
    for (int i = 0; i < 300; i++) try { deep(i % 30); } catch (IllegalStateException e) { }
    System.out.println(IntStream.range(0, 1000).parallel().filter(x -> x % 3 == 0).mapToObj(Integer::toString).collect(Collectors.joining()).length());
    ExecutorService e = Executors.newFixedThreadPool(3);
    List<Future<Integer>> f = new ArrayList<>();
    for (int i = 0; i < 4; i++) { int k = i; f.add(e.submit(() -> { if (k == 2) throw new Exception("task"); return k; })); }
    for (var x : f) try { System.out.println(x.get()); } catch (ExecutionException x2) { System.out.println(x2.getCause().getMessage()); }
    e.shutdown();
    MethodHandle h = MethodHandles.lookup().findStatic(Math.class, "abs", MethodType.methodType(int.class, int.class));
    System.out.println((int) h.invokeExact(-4));
    Shape p = (Shape) Proxy.newProxyInstance(Streams.class.getClassLoader(), new Class<?>[] {Shape.class}, (o, m, args) -> m.getName().equals("area") ? 5.0 : "proxy");
    System.out.println(p.area() + p.name() + new Square(2).area());
    try { Object o = "x"; Integer i = (Integer) o; } catch (ClassCastException x) { System.out.println("cast"); }
    try { int[] z = null; z[0] = 1; } catch (NullPointerException x) { System.out.println("null"); }
    try { System.out.println(1 / (count - count)); } catch (ArithmeticException x) { System.out.println("zero"); }
    try { overflow(0); } catch (StackOverflowError x) { System.out.println("deep"); }
    Streams.class.getDeclaredMethod("deep", int.class).setAccessible(true);
    try { Streams.class.getDeclaredMethod("deep", int.class).invoke(null, 1); } catch (InvocationTargetException x) { System.out.println(x.getCause().getMessage()); }
    Thread t = new Thread(() -> { try { Thread.sleep(10000); } catch (InterruptedException x) { System.out.println("interrupted"); } });
    t.start(); t.interrupt(); t.join();
    CompletableFuture.supplyAsync(() -> 1).thenApply(x -> x + 1).thenAccept(System.out::println).get();
    System.gc(); Runtime.getRuntime().addShutdownHook(new Thread(() -> System.out.println("bye")));
  }
  static int overflow(int n) { return overflow(n + 1) + 1; }
}
