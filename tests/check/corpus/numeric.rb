# Calls of C through Fiddle, sort blocks that break, method_missing, refinements, pattern matching, ensure with return.
require 'fiddle'
require 'json'
require 'set'
libc = Fiddle.dlopen(nil)
qsort = Fiddle::Function.new(libc['qsort'], [Fiddle::TYPE_VOIDP, Fiddle::TYPE_SIZE_T, Fiddle::TYPE_SIZE_T, Fiddle::TYPE_VOIDP], Fiddle::TYPE_VOID)
compare = Fiddle::Closure::BlockCaller.new(Fiddle::TYPE_INT, [Fiddle::TYPE_VOIDP, Fiddle::TYPE_VOIDP]) { |a, b| a[0, 4].unpack1('l') <=> b[0, 4].unpack1('l') }
data = [5, 3, 8, 1].pack('l*')
qsort.call(data, 4, 4, compare)
p data.unpack('l*')
p [3, 1, 2].sort { |a, b| break :left if b == 2; a <=> b }
class Any
  def method_missing(n, *a) = [n, a.sum]
  def respond_to_missing?(*) = true
end
p Any.new.foo(1, 2)
def early
  [1, 2, 3].each { |x| begin; return x; ensure; puts 'ensure'; end }
end
p early
case { a: [1, { b: 2 }] }
in { a: [Integer => x, { b: }] }
  p x + b
end
p JSON.parse(JSON.generate({ 'a' => [1, 2.5, nil, true] }))
p 2**200, 100.digits.sum, (1..20).reduce(:*), 10.0.rationalize
p 'héllo wörld'.scan(/\w+/).map(&:capitalize), 'a1b2'.gsub(/\d/) { |d| (d.to_i * 2).to_s }
begin
  eval('1 +')
rescue SyntaxError
  puts 'syntax'
end
p ObjectSpace.each_object(Class).count > 100
retries = 0
begin
  retries += 1
  raise 'again' if retries < 3
  p retries
rescue
  retry
end
p Comparable.instance_method(:clamp).bind_call(15, 1, 10)
tp = TracePoint.new(:call) { }
tp.enable { early }
