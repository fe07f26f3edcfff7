# Modules in C: Storable with hooks, Encode, Time::HiRes signals, Socket pairs, DB_File-like callbacks of List::Util, B, mro.
use strict; use warnings; use Storable qw(freeze thaw dclone); use Encode; use Time::HiRes qw(setitimer ITIMER_REAL usleep); use Socket; use Digest::SHA; use Compress::Zlib; use MIME::Base64; use List::Util; use Sys::Hostname; use IO::Handle; use B; use Hash::Util; use Fcntl;
{ package H; sub new { bless { a => 1 } } sub STORABLE_freeze { my ($s, $c) = @_; return "frozen" } sub STORABLE_thaw { my ($s, $c, $f) = @_; die "thaw\n" if $f eq 'x'; $s->{f} = $f } }
print dclone(H->new)->{f}, "\n"; eval { package F; our @ISA = ('H'); sub STORABLE_freeze { die "through C\n" } Storable::freeze(bless {}, 'F') }; print $@;
print length encode('UTF-16', "h\x{e9}llo"), "\n"; eval { decode('UTF-8', "\xff", Encode::FB_CROAK) }; print $@ ? "croaked\n" : "no\n"; decode('UTF-8', "a\xff", sub { print "callback\n"; '?' });
{ local $SIG{ALRM} = sub { die "timer\n" }; eval { setitimer(ITIMER_REAL, 0.01); 1 while 1 }; print $@ }
socketpair(my $a, my $b, AF_UNIX, SOCK_STREAM, PF_UNSPEC); $a->autoflush(1); print $a "x\n"; print scalar <$b>; print Digest::SHA::sha1_hex('x'), "\n"; print length(uncompress(compress('a' x 1000))), "\n"; print decode_base64(encode_base64('b64')), "\n";
print eval { List::Util::first { die "first\n" } 1 } // $@; print List::Util::any(sub { $_ == 2 }, 1, 2) ? "any\n" : ''; print B::svref_2object(sub { })->GV->NAME, "\n"; my %h = (a => 1); Hash::Util::lock_keys(%h); eval { $h{b} = 1 }; print $@ ? "locked\n" : '';
eval { my @x = List::Util::pairmap { last_one() if $a == 3; ($a, $b) } 1 .. 4; sub last_one { die "pair\n" } }; print $@;
