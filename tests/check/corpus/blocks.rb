# exceptions through blocks, retry, ensure, method_missing, define_method, refinements, ObjectSpace, at_exit
class A
  def method_missing(n, *a, &b) = b ? b.call(*a) : n
  def respond_to_missing?(*) = true
  define_method(:dm) { |x, &b| return x if x > 2; b.call(x) rescue :no }
end
a = A.new
p a.foo, a.bar(1) { |x| x + 1 }
n = 0
begin; n += 1; raise ArgumentError if n < 4; p n; rescue ArgumentError; retry; ensure; p :e; end
def each_deep(n, &b) = n == 0 ? b.call : each_deep(n - 1, &b)
r = [1, 2].each { |x| each_deep(20) { break } }
p r
pr = proc { |x| next x * 2 }
p [1, 2, 3].map(&pr), [3, 1, 2].sort { |x, y| y <=> x }, [1, 2].inject(:+)
p (1..Float::INFINITY).lazy.map { |x| x * 2 }.select { |x| x % 3 == 0 }.first(3)
at_exit { p :bye; begin; raise "x"; rescue; p :r; end }
p "abc".each_char.with_index.map { |c, i| c * i }
p [1, [2, [3]]].flatten, {a: 1}.to_a, "a-b".tr("-", "_"), Comparable
ObjectSpace.each_object(Class).first(3)
GC.start
p binding.local_variables.size
eval("def ev(x); x.then { |y| y + 1 }; end"); p ev(1)
p (begin; Integer("q") rescue 5; end)
x = catch { |t| each_deep(10) { throw t, 7 } }
p x
def gen; return to_enum(:gen) unless block_given?; yield 1; yield 2; end
g = gen; p g.next, g.next, (g.next rescue :stop)
p ObjectSpace.count_objects.size, __method__.inspect
f1 = Fiber.new { f2 = Fiber.new { Fiber.yield 1; raise "in" }; f2.resume; begin; f2.resume; rescue => e; Fiber.yield e.message; end; :end }
p f1.resume, f1.resume, f1.alive?
