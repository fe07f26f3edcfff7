# Crystal: fibers, channels, exceptions, callbacks of C, signals, blocks that leave
class Bad < Exception; end
lib C
  fun qsort(base : Void*, n : LibC::SizeT, size : LibC::SizeT, f : (Void*, Void*) -> Int32)
end
abstract class Shape; abstract def area : Int32; end
class Square < Shape; def initialize(@a : Int32); end; def area : Int32; @a * @a; end; end
class Line < Shape; def area : Int32; raise Bad.new("line"); end; end
def deep(n : Int32) : Int32
  raise Bad.new("deep") if n == 0
  deep(n - 1) + 1
ensure
  n
end
def each_until
  10.times { |i| yield i }
end
def left : Int32
  each_until { |i| return i if i == 3 }
  0
end
begin
  deep(50)
rescue e : Bad
  puts e.message
end
channel = Channel(Int32).new
5.times { |i| spawn { 3.times { Fiber.yield }; begin deep(i); rescue Bad; end; channel.send(i) } }
puts (1..5).sum { channel.receive }
puts left
numbers = StaticArray[5, 3, 1, 4]
C.qsort(numbers.to_unsafe.as(Void*), 4, 4, ->(a : Void*, b : Void*) { a.as(Int32*).value - b.as(Int32*).value })
puts numbers
[Square.new(3), Line.new].each { |s| puts((s.as(Shape).area rescue -1)) }
done = Channel(Nil).new
Signal::USR1.trap { puts "signal"; done.send(nil) }
Process.signal(Signal::USR1, Process.pid)
done.receive
select
when n = channel.receive then puts n
when timeout(1.milliseconds) then puts "late"
end
