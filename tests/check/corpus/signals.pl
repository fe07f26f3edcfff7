# Signals that die, sort blocks, DESTROY, tied and overloaded things, local, threads, formats, regular expressions with code, fork.
use strict; use warnings; use threads; use POSIX qw(setlocale floor sigaction); use List::Util qw(reduce first sum); use Scalar::Util qw(weaken);
$SIG{ALRM} = sub { die "alarm\n" };
eval { alarm 1; POSIX::pause() if 0; kill ALRM => $$; 1 } or print "caught $@"; alarm 0;
{ package D; sub new { bless {n => $_[1]} } sub DESTROY { print "destroy $_[0]{n}\n"; eval { die "inner\n" }; } }
eval { my $d = D->new(1); die D->new(2) }; print ref $@, "\n"; undef $@;
print join(",", sort { $b <=> $a } map { $_ * 2 } grep { $_ % 2 } 1 .. 9), "\n";
my @broken = eval { sort { die "in sort\n" } 3, 1, 2 }; print $@;
print reduce { $a * $b } 1 .. 6; print "\n";
sub deep { my $n = shift; no warnings 'recursion'; $n ? deep($n - 1) : die { depth => 1 } } eval { deep(500) }; print $@->{depth}, "\n";
OUTER: for my $i (1 .. 5) { for my $j (1 .. 5) { next OUTER if $j == 3; last OUTER if $i == 3 } }
my $s = "a1b2"; (my $t = $s) =~ s/(\d)/$1 * 2/ge; print "$t\n"; my $c = 0; "aaaa" =~ /(?:a(?{ $c++ }))*$/; print "$c\n";
my $nested; $nested = qr/\((?:[^()]++|(??{ $nested }))*\)/; print "(a(b)c)" =~ /^$nested$/ ? "match\n" : "no\n";
{ package T; sub TIESCALAR { bless [] } sub FETCH { 42 } sub STORE { } } tie my $x, 'T'; print "$x\n"; untie $x;
{ package O; use overload '+' => sub { O->new($_[0]{v} + (ref $_[1] ? $_[1]{v} : $_[1])) }, '""' => sub { "O(" . $_[0]{v} . ")" }; sub new { bless {v => $_[1]} } } print O->new(1) + 2, "\n";
my @t = map { threads->create(sub { eval { die "t\n" }; $_[0] ** 2 }, $_) } 1 .. 3; print sum(map { $_->join } @t), "\n";
my $pid = fork; if (!$pid) { exec 'true' } waitpid $pid, 0; print `echo sub`;
sub AUTOLOAD { our $AUTOLOAD; return if $AUTOLOAD =~ /DESTROY/; print "auto $AUTOLOAD\n" } main->missing; goto &leave if 0; sub leave { }
eval 'sub gen { my $i = 0; sub { $i++ } } 1' or die; my $g = gen(); $g->() for 1 .. 3; print $g->(), "\n"; print sprintf("%vd", "1.22.333"), "\n";
eval { local $SIG{__DIE__} = sub { die "wrapped: $_[0]" }; die "x\n" }; print $@; print wantarray() // 'undef', "\n"; local $@; require Data::Dumper; print Data::Dumper->new([[1, { a => 2 }]])->Indent(0)->Dump, "\n";
