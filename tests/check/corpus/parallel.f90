program parallel
  implicit none
  abstract interface
    real function f(x)
      real, intent(in) :: x
    end function
  end interface
  real :: total
  integer :: i
  total = 0
  !$omp parallel do reduction(+:total) schedule(dynamic, 10)
  do i = 1, 1000
    total = total + apply(inner, real(i))
  end do
  !$omp task
  total = total + 1
  !$omp end task
  !$omp taskwait
  print *, total
contains
  real function apply(g, x)
    procedure(f) :: g
    real, intent(in) :: x
    apply = g(x)
  end function
  real function inner(x)
    real, intent(in) :: x
    inner = x / (1 + i * 0)
  end function
end program
