require "digest"
require "fiddle"
require "json"
require "zlib"
p JSON.parse(JSON.generate([1, { "a" => nil }])), Digest::SHA256.hexdigest("a")[0, 8]
p Zlib::Inflate.inflate(Zlib::Deflate.deflate("a" * 100)).size
libc = Fiddle.dlopen(nil)
p Fiddle::Function.new(libc["strlen"], [Fiddle::TYPE_VOIDP], Fiddle::TYPE_INT).call("hello")
calls = 0
order = Class.new(Fiddle::Closure) do
  define_method(:call) { |a, b| calls += 1; Fiddle::Pointer.new(a)[0, 4].unpack1("i") <=> Fiddle::Pointer.new(b)[0, 4].unpack1("i") }
end
closure = order.new(Fiddle::TYPE_INT, [Fiddle::TYPE_VOIDP, Fiddle::TYPE_VOIDP])
sort = Fiddle::Function.new(libc["qsort"], [Fiddle::TYPE_VOIDP, Fiddle::TYPE_SIZE_T, Fiddle::TYPE_SIZE_T, Fiddle::TYPE_VOIDP], Fiddle::TYPE_VOID)
numbers = Fiddle::Pointer[[3, 1, 2].pack("i*")]
sort.call(numbers, 3, 4, closure)
p numbers[0, 12].unpack("i*"), calls.positive?
TracePoint.new(:call, :return, :raise) { |t| t.event }.enable do
  def traced(n) = n == 0 ? (raise "z" rescue 1) : traced(n - 1)
  p traced(5)
end
