import std.stdio, core.thread;
int f(int n){ if(n==0) throw new Exception("x"); return f(n-1)+1; }
void main(){ foreach(i;0..4) try f(i); catch(Exception e) writeln(e.msg); auto fb=new Fiber({ foreach(i;0..3){ writeln(i); Fiber.yield(); } }); auto f2=new Fiber({ foreach(i;0..3){ writeln(-i); Fiber.yield(); } }); foreach(i;0..3){ fb.call(); f2.call(); } auto t=new Thread({ writeln("t"); }); t.start(); t.join(); }
