def f(n) ; raise "x" if n==0; f(n-1); rescue => e; raise e if n>2; n; end
10.times{|i| begin; f(i); rescue; end}
p [1,2,3].each{|x| break x if x==2}
p catch(:a){ 10.times{|i| throw :a, i if i==3 }; 0}
def y; yield 1; ensure; p :e; end
p y{|a| next a+1}
l=lambda{|x| return x*2}; p l.call(3)
fb=Fiber.new{ 3.times{|i| Fiber.yield i}; :done}; 4.times{p fb.resume}
e=[1,2,3].each; p e.next,e.next,e.next; begin; e.next; rescue StopIteration; p :stop; end
t=Thread.new{ Thread.current[:a]=1; sleep 0.01; raise "t" rescue 5}; p t.value
trap("USR1"){p :sig}; Process.kill("USR1",$$); sleep 0.05
def rr(n); n==0 ? (throw :z, 1) : rr(n-1); end
p catch(:z){rr(50)}
50.times{|i| begin; Integer("z"); rescue ArgumentError; end}
p((callcc{|k| k.call(3)} rescue :nocc))
