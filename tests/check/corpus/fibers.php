<?php function g(){ try { $x = yield 1; echo $x; yield 2; } finally { echo "f"; } }
$g=g(); echo $g->current(); echo $g->send("s"); unset($g);
function r($n){ if($n==0) throw new Exception("x"); return r($n-1); } for($i=0;$i<5;$i++) try { r($i);} catch(Exception $e){ echo $e->getMessage(); }
$f=new Fiber(function($a){ $b=Fiber::suspend($a+1); try { Fiber::suspend($b); } catch (Exception $e) { echo "ff"; } return 5; }); echo $f->start(1); echo $f->resume(7); $f->throw(new Exception("q")); echo $f->getReturn();
$l=[3,1,2]; usort($l, fn($a,$b)=>$a<=>$b); echo preg_replace('/a(.)/','$1',"abac"); echo array_sum(array_map(fn($x)=>$x*2,[1,2,3]));
