! What gfortran emits, and what Fortran calls by name.
module counts
  integer, save :: mine = 0
  !$omp threadprivate(mine)
contains
  recursive function fib(n) result(value)
    integer, intent(in) :: n
    integer :: value, a, b
    if (n < 2) then
      value = n
      return
    end if
    !$omp task shared(a)
    a = fib(n - 1)
    !$omp end task
    !$omp task shared(b)
    b = fib(n - 2)
    !$omp end task
    !$omp taskwait
    value = a + b
  end function
end module

program main
  use omp_lib
  use counts
  implicit none
  integer :: i, total, wrong, cells(4), chunk
  integer(omp_sched_kind) :: kind
  integer(omp_lock_kind) :: lock
  integer(omp_nest_lock_kind) :: nest
  real(8) :: values(1000), whole

  total = 0
  !$omp parallel do schedule(dynamic, 7) reduction(+:total) num_threads(3)
  do i = 1, 1000
    total = total + i
    values(i) = i * 0.5d0
  end do
  !$omp end parallel do
  print *, 'loop', total

  whole = 0
  !$omp parallel workshare num_threads(2)
  whole = sum(values)
  !$omp end parallel workshare
  print *, 'workshare', whole

  wrong = 0
  mine = 5
  !$omp parallel num_threads(3) copyin(mine)
  if (mine /= 5) then
    !$omp atomic
    wrong = wrong + 1
  end if
  !$omp end parallel
  print *, 'threadprivate', wrong

  !$omp parallel num_threads(3)
  !$omp single
  total = fib(15)
  !$omp end single
  !$omp end parallel
  print *, 'fib', total

  cells = 1
  !$omp parallel num_threads(2)
  !$omp single
  do i = 1, 10
    !$omp task depend(inout: cells(1)) shared(cells)
    cells(1) = cells(1) * 2
    !$omp end task
  end do
  !$omp end single
  !$omp end parallel
  print *, 'depend', cells(1)

  call omp_init_lock(lock)
  call omp_init_nest_lock(nest)
  total = 0
  !$omp parallel num_threads(3)
  call omp_set_lock(lock)
  total = total + 1
  call omp_unset_lock(lock)
  call omp_set_nest_lock(nest)
  total = total + omp_test_nest_lock(nest)
  call omp_unset_nest_lock(nest)
  call omp_unset_nest_lock(nest)
  !$omp end parallel
  print *, 'locks', total
  call omp_destroy_lock(lock)
  call omp_destroy_nest_lock(nest)

  call omp_set_num_threads(2)
  call omp_set_dynamic(.false.)
  call omp_set_schedule(omp_sched_guided, 3)
  call omp_get_schedule(kind, chunk)
  print *, 'asked', omp_get_max_threads(), omp_in_parallel(), kind, chunk, omp_get_level()
  !$omp parallel do ordered schedule(runtime)
  do i = 1, 5
    !$omp ordered
    print *, i
    !$omp end ordered
  end do
  call affinity()
  call target(7)
contains
  subroutine affinity()
    character(20) :: room
    integer :: length
    call omp_set_affinity_format('num %n of %N')
    length = omp_get_affinity_format(room)
    print *, 'format', length, '[', room, ']'
    length = omp_capture_affinity(room, 'thread %n')
    print *, 'captured', length, '[', room, ']'
    length = omp_capture_affinity(room(1:4), 'number %n')
    print *, 'in part', length, '[', room, ']'
    length = omp_capture_affinity(room, '')
    print *, 'as set', length, '[', room, ']'
    call omp_display_affinity('shown %n  ')
  end subroutine

  subroutine target(size)
    integer, intent(in) :: size
    integer :: a(size), b(2:size, 3), i
    integer, allocatable :: c(:), none(:)
    integer, pointer :: p(:)
    character(:), allocatable :: text
    real(8) :: sum
    allocate(c(size), p(2:4))
    p = 4
    text = 'some text'
    a = 1
    b = 2
    c = 3
    sum = 0.5d0
    !$omp target map(tofrom: a, sum) map(to: b) firstprivate(c, text, p, none)
    a(2) = size
    c(3) = 100
    text(1:1) = 'S'
    sum = sum + b(3, 2) + c(3) + c(1)
    p(3) = 50
    if (allocated(none)) sum = -1
    sum = sum + p(2) + p(3)
    if (text /= 'Some text') sum = 0
    !$omp end target
    !$omp target data map(tofrom: a)
    !$omp target teams distribute parallel do reduction(+: sum)
    do i = 1, size
      sum = sum + a(i)
    end do
    !$omp end target data
    print *, 'target', a, c(3), sum, text, p
  end subroutine
end program
