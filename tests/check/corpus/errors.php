<?php
// Exceptions through internal functions, destructors, finally, generators and FFI; closures; reflection; signals; shutdown.
register_shutdown_function(function () { echo "bye\n"; });
set_error_handler(function ($n, $m) { throw new ErrorException($m, 0, $n); });
try { echo $undefined; } catch (ErrorException $e) { echo "error\n"; }
class D { public function __construct(public int $n) {} public function __destruct() { echo "destroy {$this->n}\n"; } public function __call($m, $a) { return $m; } public static function __callStatic($m, $a) { return "$m static"; } }
function deep($n) { $d = $n % 10 ? null : new D($n); if (!$n) throw new RuntimeException("deep"); try { return deep($n - 1); } finally { $GLOBALS['f'] = ($GLOBALS['f'] ?? 0) + 1; } }
try { deep(30); } catch (RuntimeException $e) { echo $e->getMessage(), ' ', $f, "\n"; }
try { usort($list, fn($a, $b) => throw new LogicException("in sort")); } catch (TypeError | LogicException | ErrorException $e) { echo get_class($e), "\n"; }
$list = [3, 1, 2];
try { usort($list, fn($a, $b) => throw new LogicException("in sort")); } catch (LogicException $e) { echo $e->getMessage(), "\n"; }
echo (new D(1))->missing(), ' ', D::missing(), "\n";
function g() { try { $x = yield 1; echo "got $x\n"; yield from [2, 3]; return 4; } finally { echo "closed\n"; } }
$g = g(); foreach ($g as $v) { if ($v == 1) $g->send('s'); if ($v == 3) break; } unset($g);
$g = g(); $g->current(); try { $g->throw(new Exception("into")); } catch (Exception $e) { echo $e->getMessage(), "\n"; }
$fiber = new Fiber(function (): void { try { Fiber::suspend(1); } catch (Exception $e) { echo 'fiber ', $e->getMessage(), "\n"; } throw new Exception("out"); });
$fiber->start(); try { $fiber->throw(new Exception("in")); } catch (Exception $e) { echo $e->getMessage(), "\n"; }
echo preg_replace_callback('/\d/', fn($m) => $m[0] * 2, 'a1b2'), "\n"; echo implode(',', array_map(null, [1, 2], [3, 4])[1]), "\n";
$m = new ReflectionMethod('D', '__call'); echo $m->invoke(new D(2), 'x', []), "\n"; eval('echo "eval\n";'); try { eval('1 +'); } catch (ParseError $e) { echo "parse\n"; }
if (extension_loaded('ffi')) { $ffi = FFI::cdef('void qsort(int*, size_t, size_t, int (*)(const int*, const int*)); int abs(int);', 'libc.so.6'); $a = $ffi->new('int[4]'); foreach ([5, 2, 9, 1] as $i => $v) $a[$i] = $v; $ffi->qsort($a, 4, 4, fn($x, $y) => $x[0] - $y[0]); echo $a[0], $a[3], ' ', $ffi->abs(-3), "\n"; }
if (function_exists('pcntl_signal')) { pcntl_async_signals(true); pcntl_signal(SIGUSR1, function () { throw new Exception("signal"); }); try { posix_kill(getmypid(), SIGUSR1); for ($i = 0; $i < 1000000; $i++); } catch (Exception $e) { echo $e->getMessage(), "\n"; } }
$w = WeakReference::create(new D(3)); var_dump($w->get()); enum S: string { case A = 'a'; public static function f() { return self::from('a')->name; } } echo S::f(), "\n"; echo match (true) { default => 'match' }, "\n";
$it = new CallbackFilterIterator(new ArrayIterator(range(1, 10)), fn($x) => $x % 3 == 0); echo implode(' ', iterator_to_array($it, false)), "\n"; echo `echo sub`; spl_autoload_register(fn($c) => throw new Exception("load $c")); try { new Missing; } catch (Exception $e) { echo $e->getMessage(), "\n"; } gc_collect_cycles();
exit(0);
