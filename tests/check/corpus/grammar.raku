# Raku: gather and take, grammars, exceptions that are resumed, promises, calls of C and back
use NativeCall;
sub getpid() returns int32 is native {*}
sub qsort(CArray[int32], size_t, size_t, &compare (Pointer[int32], Pointer[int32] --> int32)) is native {*}
grammar Sum {
  token TOP { <number>+ % '+' }
  token number { \d+ }
}
say Sum.parse('1+22+3')<number>.map(+*).sum;
sub deep($n) { die "deep" if $n == 0; deep($n - 1) + 1 }
try { deep(30); CATCH { default { say .message } } }
{ CONTROL { when CX::Warn { say "warned"; .resume } }; warn "w"; say "resumed"; }
say (gather for 1..5 { take $_ ** 2 }).join(' ');
say await (1..3).map({ start { [+] 1..($_ * 100) } });
say getpid() == $*PID;
my $a = CArray[int32].new(5, 3, 1, 4);
qsort($a, 4, 4, sub ($x, $y) { $x.deref <=> $y.deref });
say $a.list;
my $s = 0; for ^20000 { $s = ($s + $_ * $_) % 1000 }; say $s;
