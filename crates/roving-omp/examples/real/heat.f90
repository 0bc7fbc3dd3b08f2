! Heat in a plate by Jacobi's method, and a sum by tasks: `cargo xtask openmp` compares what is
! printed, all digits of it.
program heat
  implicit none
  integer, parameter :: side = 1000, steps = 800
  double precision, allocatable :: now(:,:), next(:,:)
  double precision :: change, total, part(16)
  integer :: i, k, step
  allocate(now(side, side), next(side, side))
  now = 0
  now(:, 1) = 1
  next = now
  change = 0
  do step = 1, steps
    change = 0
    !$omp parallel do schedule(static) reduction(max:change)
    do k = 2, side - 1
      do i = 2, side - 1
        next(i, k) = (now(i-1, k) + now(i+1, k) + now(i, k-1) + now(i, k+1)) / 4
        change = max(change, abs(next(i, k) - now(i, k)))
      end do
    end do
    !$omp parallel workshare
    now(:, :) = next(:, :)
    !$omp end parallel workshare
  end do
  part = 0
  !$omp parallel
  !$omp single
  do i = 1, 16
    !$omp task firstprivate(i) shared(part, now)
    do k = i, side, 16
      part(i) = part(i) + sum(now(:, k))
    end do
    !$omp end task
  end do
  !$omp end single
  !$omp end parallel
  total = sum(part)
  print '(2es25.16e3)', change, total
end program
