module m
 type, abstract :: s
 contains
  procedure(ai), deferred :: area
 end type
 abstract interface
  real function ai(self)
   import s
   class(s), intent(in) :: self
  end function
 end interface
 type, extends(s) :: sq
  real :: a = 2
 contains
  procedure :: area => sqa
 end type
contains
 real function sqa(self)
  class(sq), intent(in) :: self
  sqa = self%a**2
 end function
 recursive integer function fib(n) result(r)
  integer, intent(in) :: n
  if (n < 2) then
   r = n
  else
   r = fib(n-1) + fib(n-2)
  end if
 end function
end module
program p
 use m
 class(s), allocatable :: x
 procedure(fib), pointer :: f
 allocate(sq :: x)
 f => fib
 print *, x%area(), f(12)
 call each(pr)
contains
 subroutine pr(i)
  integer, intent(in) :: i
  print *, i
 end subroutine
 subroutine each(q)
  interface
   subroutine q(i)
    integer, intent(in) :: i
   end subroutine
  end interface
  call q(3)
 end subroutine
end program
