module m
  implicit none
  type, abstract :: shape
  contains
    procedure(area_of), deferred :: area
  end type
  abstract interface
    function area_of(this) result(a)
      import shape
      class(shape), intent(in) :: this
      real :: a
    end function
  end interface
  type, extends(shape) :: square
    real :: s = 2
  contains
    procedure :: area => square_area
    final :: gone
  end type
contains
  function square_area(this) result(a)
    class(square), intent(in) :: this
    real :: a
    a = this%s**2
  end function
  subroutine gone(x)
    type(square), intent(inout) :: x
    x%s = 0
  end subroutine
  recursive function fib(n) result(r)
    integer, intent(in) :: n
    integer :: r
    if (n < 2) then
      r = n
    else
      r = fib(n - 1) + fib(n - 2)
    end if
  end function
  function apply(f, n) result(r)
    interface
      function f(x)
        integer, intent(in) :: x
        integer :: f
      end function
    end interface
    integer, intent(in) :: n
    integer :: r
    r = f(n)
  end function
end module
program procedures
  use m
  use iso_c_binding
  implicit none
  class(shape), allocatable :: s
  integer :: total = 0, i, status
  character(20) :: text
  procedure(fib), pointer :: p
  allocate (square :: s)
  p => fib
  print *, s%area(), p(10), apply(inner, 3)
  do i = 1, 4
    write (text, '(i0,a,f6.2)') i, ' ', sqrt(real(i))
    print *, trim(text)
  end do
  read (text, *, iostat=status) i
  open (10, file='/none/x', iostat=status)
  print *, status /= 0, matmul(reshape([1, 2, 3, 4], [2, 2]), reshape([1, 0, 0, 1], [2, 2]))
  select case (i)
  case (1:3); total = 1
  case default; total = 2
  end select
  deallocate (s)
contains
  function inner(x)
    integer, intent(in) :: x
    integer :: inner
    total = total + x
    inner = total
  end function
end program
