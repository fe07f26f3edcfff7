// C that calls Java that throws, by JNI.
public class Native {
  static native int apply(Native o, int n);
  static native int[] sort(int[] list);
  int called(int n) {
    if (n == 0) throw new IllegalStateException("through C");
    return n == 1 ? 1 : apply(this, n - 1) + n;
  }
  static int compare(int a, int b) { return a - b; }
  public static void main(String[] args) {
    System.load(args[0]);
    System.out.println(apply(new Native(), 20));
    try { apply(new Native(), 0); } catch (IllegalStateException e) { System.out.println(e.getMessage()); }
    System.out.println(sort(new int[] {5, 2, 9, 1})[0]);
    for (int i = 0; i < 2000; i++) apply(new Native(), 3);
    Thread t = new Thread(() -> System.out.println(apply(new Native(), 5)));
    t.start();
    try { t.join(); } catch (InterruptedException e) { }
  }
}
