// Test fixture: enough work for Java's compilers, in several threads, with exceptions.
import java.util.stream.IntStream;

class Work {
  static int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

  public static void main(String[] arguments) {
    System.out.println(IntStream.range(0, 24).parallel().map(Work::fibonacci).sum());
    for (int i = 0; i < 100; ++i) {
      try {
        Object nothing = i % 2 == 0 ? null : "text";
        nothing.hashCode();
      } catch (NullPointerException e) {
        continue;
      }
    }
  }
}
