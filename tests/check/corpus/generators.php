<?php
function gen($n) { try { for ($i = 0; $i < $n; $i++) { $x = yield $i => $i * 2; if ($x) throw new Exception($x); } } finally { echo "finally\n"; } return 9; }
function outer() { $r = yield from gen(3); echo "r=$r\n"; }
foreach (outer() as $k => $v) echo "$k=$v\n";
$g = gen(5); $g->current(); try { $g->send("sent"); } catch (Exception $e) { echo $e->getMessage(), "\n"; }
function deep($n) { if ($n == 0) throw new LogicException("deep"); return deep($n - 1) + 1; }
for ($i = 0; $i < 4; $i++) try { deep($i * 20); } catch (LogicException $e) { echo "c"; } finally { echo "f"; }
set_error_handler(function ($no, $m) { throw new ErrorException($m, 0, $no); });
try { $a = []; echo $a["x"]; } catch (ErrorException $e) { echo get_class($e), "\n"; }
$l = [3, 1, 2]; usort($l, fn($a, $b) => $a <=> $b); echo implode(",", array_map(fn($x) => $x ** 2, $l)), "\n";
class M { private $d = []; function __get($n) { return $this->d[$n] ?? "none"; } function __set($n, $v) { $this->d[$n] = $v; } function __call($n, $a) { return "$n(" . implode($a) . ")"; } static function __callStatic($n, $a) { return $n; } function __destruct() { echo "gone\n"; } function __invoke($x) { return $x + 1; } }
$m = new M; $m->a = 1; echo $m->a, $m->b, $m->foo(1, 2), M::bar(), $m(4), "\n"; unset($m);
echo preg_replace_callback('/(\w)(\d)?/', fn($x) => strtoupper($x[1]), "a1 b"), preg_match('/^(a+)+$/', str_repeat("a", 20)), "\n";
register_shutdown_function(function () { echo "shutdown\n"; });
spl_autoload_register(function ($c) { eval("class $c { }"); }); new Fresh;
ob_start(fn($s) => strtoupper($s)); echo "buffered\n"; ob_end_flush();
try { intdiv(1, 0); } catch (DivisionByZeroError $e) { echo "zero\n"; }
try { strlen(); } catch (ArgumentCountError $e) { echo "count\n"; }
$f = new Fiber(function () { try { Fiber::suspend(1); } finally { echo "fiber\n"; } throw new Exception("out"); }); $f->start(); try { $f->resume(); } catch (Exception $e) { echo $e->getMessage(), "\n"; }
declare(ticks=1) { $z = 1; } echo json_encode(unserialize(serialize(["a" => [1, null]]))), "\n"; echo `echo sh`;
