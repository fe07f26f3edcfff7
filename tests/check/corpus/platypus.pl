# C functions by libffi.
use FFI::Platypus 1.00; my $f=FFI::Platypus->new(api=>1,lib=>[undef]); $f->attach(abs=>['int']=>'int'); print abs(-3),"\n"; my $c=$f->closure(sub{ $_[0] <=> $_[1] }); $f->type('(int,int)->int'=>'cmp_t'); $f->attach(atoi=>['string']=>'int'); print atoi("42"),"\n";
