// A benchmark for java: methods that its JIT compiles while it runs, maps, strings, sorting, one
// interface in several forms. Prints one line that depends on all of it.
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

public final class Compiled {
  interface Shape {
    int area();
  }

  record Square(int size) implements Shape {
    public int area() {
      return size * size;
    }
  }

  record Circle(int size) implements Shape {
    public int area() {
      return (int) (3.14159 * size * size);
    }
  }

  record Triangle(int size) implements Shape {
    public int area() {
      return size * size / 2;
    }
  }

  private int state = 7;

  private int random(int below) {
    state = (state * 1103515245 + 12345) & 0x7fffffff;
    return state % below;
  }

  private int areas(int count) {
    int sum = 0;
    for (int i = 0; i < count; ++i) {
      int kind = random(3);
      int size = random(100);
      Shape shape = kind == 0 ? new Square(size) : kind == 1 ? new Circle(size) : new Triangle(size);
      sum += shape.area();
    }
    return sum;
  }

  private String words(int count) {
    Map<String, Integer> seen = new HashMap<>();
    for (int i = 0; i < count; ++i) {
      seen.merge("w" + Integer.toString(random(5000), 36), 1, Integer::sum);
    }
    List<Map.Entry<String, Integer>> all = new ArrayList<>(seen.entrySet());
    all.sort(Map.Entry.<String, Integer>comparingByValue(Comparator.reverseOrder())
        .thenComparing(Map.Entry.comparingByKey()));
    return all.subList(0, 3).toString();
  }

  private int primes(int most) {
    boolean[] sieve = new boolean[most + 1];
    int count = 0;
    for (int i = 2; i <= most; ++i) {
      if (sieve[i]) continue;
      ++count;
      for (int k = i * 2; k <= most; k += i) sieve[k] = true;
    }
    return count;
  }

  private int deep(int depth, int value) {
    return depth == 0 ? value % 1000 : deep(depth - 1, value + 1) + deep(depth - 1, value * 3);
  }

  public static void main(String[] arguments) {
    Compiled all = new Compiled();
    int total = 0;
    for (int round = 0; round < 120; ++round) {
      total += all.areas(400000);
      total += all.deep(18, round);
    }
    System.out.println(total + " " + all.words(1000000) + " " + all.primes(5000000));
  }
}
