use strict; use warnings; use threads; use POSIX ":sys_wait_h"; use List::Util qw(reduce first); use Time::HiRes qw(ualarm usleep);
sub deep { my $n = shift; die { code => 7 } if $n == 0; deep($n - 1) }
for (1 .. 5) { eval { deep(20); 1 } or print "$@->{code}\n" }
local $SIG{ALRM} = sub { die "alarm\n" };
eval { ualarm(20000); 1 while 1 }; print $@;
local $SIG{__WARN__} = sub { print "warned: @_" }; warn "x\n";
local $SIG{USR1} = sub { print "usr1\n" }; kill USR1 => $$;
print join(",", sort { $b <=> $a } map { $_ * 2 } grep { $_ & 1 } 1 .. 9), "\n";
print +(reduce { $a * $b } 1 .. 6), " ", (first { $_ > 3 } 1 .. 9), "\n";
my $t = threads->create(sub { eval { die "in thread\n" }; return $@ }); print $t->join;
OUTER: for my $i (1 .. 5) { for my $j (1 .. 5) { last OUTER if $i * $j == 12; next OUTER if $j > $i } }
sub tail { my $n = shift; return "end" if !$n; @_ = ($n - 1); goto &tail } print tail(50), "\n";
my $re = qr/(\w)(?{ print "c$1 " })x/; print "ab cx" =~ $re ? "m\n" : "n\n";
"aaa" =~ s/a/uc($&)/ger; print eval("sub { \$_[0] + 1 }")->(2), "\n";
tie my %h, 'T'; $h{a} = 1; print $h{a}, "\n"; { package T; sub TIEHASH { bless {} } sub STORE { $_[0]{$_[1]} = $_[2] } sub FETCH { $_[0]{$_[1]} . "!" } sub DESTROY { print "gone\n" } }
open my $p, "-|", "echo", "piped" or die; print <$p>; close $p;
my $pid = fork // die; exit 3 unless $pid; waitpid $pid, 0; print $? >> 8, "\n";
print sprintf("%s %s", __PACKAGE__, (caller(0))[3] // "main"), "\n"; use overload; print "done\n";
