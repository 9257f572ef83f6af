! SPDX-License-Identifier: BSD-3-Clause
! Fortran: a process alone.
program solve
  use speedwell
  implicit none
  real(c_double) :: a(2, 2) = reshape([4d0, 1d0, 2d0, 3d0], [2, 2]), b(2) = [8d0, 7d0]
  integer(c_int) :: info

  info = speedwell_solve(a, b)
  if (info /= 0) then
    print "(a, i0, 2a)", "info ", info, ": ", speedwell_last_error()
    stop 1
  end if
  print "(a, f8.6, 1x, f8.6)", "x = ", b
end program
