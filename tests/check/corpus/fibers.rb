# Fibers, enumerators that are left early, callcc, signals, finalizers, deep recursion that is caught, Ractor, at_exit.
require 'continuation'
f = Fiber.new { |x| 3.times { |i| x = Fiber.yield(x + i) }; :done }
4.times { |i| p f.resume(i) }
g = Fiber.new { raise 'in a fiber' }
begin
  g.resume
rescue => e
  puts e.message
end
e = Enumerator.new { |y| a, b = 0, 1; loop { y << a; a, b = b, a + b } }
p e.lazy.select(&:even?).first(5), e.next, e.next, e.peek
z = [1, 2].each.with_index
begin
  loop { p z.next }
ensure
  puts 'ended'
end
n = 0
k = callcc { |c| c }
n += 1
k.call(k) if n < 4
p n
def deep(n) = deep(n + 1) + 1
begin
  deep(0)
rescue SystemStackError => err
  puts err.class
end
trap('USR1') { puts 'signal' }
Process.kill('USR1', Process.pid)
sleep 0.01
begin
  trap('USR2') { raise 'out of a handler' }
  Process.kill('USR2', Process.pid)
  sleep 1
rescue => err
  puts err.message
end
ObjectSpace.define_finalizer('x'.dup, proc { })
GC.start
at_exit { puts 'bye' }
r = Ractor.new { Ractor.receive * 2 }
r.send(21)
p r.take
t = Thread.new { Thread.current.report_on_exception = false; sleep }
sleep 0.01
t.raise(ArgumentError, 'into a thread')
begin
  t.join
rescue ArgumentError => err
  puts err.message
end
pid = fork { exit!(3) }
Process.wait(pid)
p $?.exitstatus, `echo sub`
p catch(:x) { 10.times { |i| [1].each { throw :x, i if i == 3 } } }
