! SPDX-License-Identifier: BSD-3-Clause
!> Speedwell from Fortran: the functions of speedwell.h that one process calls alone, and
!> speedwell_solve(), which takes Fortran's arrays. Module files are of the compiler that made them,
!> so a program compiles this source itself, before its own. speedwell.h says what the functions do
!> and return.
module speedwell
  use, intrinsic :: iso_c_binding
  implicit none
  private :: text, solve_d1, solve_d2, solve_z1, solve_z2

  integer(c_int), parameter :: speedwell_not_accurate = -1001, speedwell_not_allowed = -1002, &
    speedwell_fault = -1003
  integer(c_int), parameter :: speedwell_auto = 0, speedwell_fp16 = 1, speedwell_bf16 = 2, &
    speedwell_fp32 = 3, speedwell_fp64 = 4, speedwell_fp16x3 = 5
  integer(c_int), parameter :: speedwell_ir = 1, speedwell_gmres = 2
  integer(c_int), parameter :: speedwell_backward = 1, speedwell_forward = 2, &
    speedwell_certified = 3
  integer(c_int), parameter :: speedwell_cpu = 1, speedwell_cuda = 2
  integer(c_int), parameter :: speedwell_no_transpose = 0, speedwell_transpose = 1, &
    speedwell_conjugate_transpose = 2

  type, bind(c) :: speedwell_options
    integer(c_size_t) :: size
    integer(c_int) :: precision, refine
    real(c_double) :: tolerance
    integer(c_int) :: max_iterations, equilibrate, condition
    integer(c_int64_t) :: nb
    integer(c_int) :: nprow, npcol, column_major, lookahead, device, threads, broadcast
    integer(c_int64_t) :: chunk
    integer(c_int) :: comm
    type(c_ptr) :: gpus
    integer(c_int) :: gpu_count, reserve
    real(c_double) :: stall_timeout
    integer(c_int) :: first, strict, fp64, accuracy
    integer(c_int64_t) :: probe_seed
  end type

  type, bind(c) :: speedwell_result
    integer(c_size_t) :: size
    type(c_ptr) :: forward_bounds, componentwise_errors
    integer(c_int) :: precision, steps, iterations, equilibrated
    real(c_double) :: condition, forward_bound, componentwise_error, backward_error, &
      hpl_residual, seconds
    integer(c_int) :: doubtful, accurate
    real(c_double) :: componentwise_bound
    integer(c_int) :: certified
    integer(c_int64_t) :: probe_seed
  end type

  interface
    !> Sizes are those of the types above: call speedwell_options_init(o, c_sizeof(o)).
    subroutine speedwell_options_init(options, size) bind(c)
      import
      type(speedwell_options), intent(inout) :: options
      integer(c_size_t), value :: size
    end subroutine
    subroutine speedwell_result_init(result, size) bind(c)
      import
      type(speedwell_result), intent(inout) :: result
      integer(c_size_t), value :: size
    end subroutine

    integer(c_int) function speedwell_dgesv(n, nrhs, a, lda, b, ldb) bind(c)
      import
      integer(c_int64_t), value :: n, nrhs, lda, ldb
      real(c_double), intent(in) :: a(lda, *)
      real(c_double), intent(inout) :: b(ldb, *)
    end function
    !> options and result may be left out.
    integer(c_int) function speedwell_dgesvx(n, nrhs, a, lda, b, ldb, options, result) bind(c)
      import
      integer(c_int64_t), value :: n, nrhs, lda, ldb
      real(c_double), intent(in) :: a(lda, *)
      real(c_double), intent(inout) :: b(ldb, *)
      type(speedwell_options), intent(in), optional :: options
      type(speedwell_result), intent(inout), optional :: result
    end function
    integer(c_int) function speedwell_zgesv(n, nrhs, a, lda, b, ldb) bind(c)
      import
      integer(c_int64_t), value :: n, nrhs, lda, ldb
      complex(c_double_complex), intent(in) :: a(lda, *)
      complex(c_double_complex), intent(inout) :: b(ldb, *)
    end function
    integer(c_int) function speedwell_zgesvx(n, nrhs, a, lda, b, ldb, options, result) bind(c)
      import
      integer(c_int64_t), value :: n, nrhs, lda, ldb
      complex(c_double_complex), intent(in) :: a(lda, *)
      complex(c_double_complex), intent(inout) :: b(ldb, *)
      type(speedwell_options), intent(in), optional :: options
      type(speedwell_result), intent(inout), optional :: result
    end function

    !> Every solve reads a, which must have the attribute target, and stay as it is.
    integer(c_int) function speedwell_factor(n, a, lda, options, factors) bind(c)
      import
      integer(c_int64_t), value :: n, lda
      real(c_double), intent(in), target :: a(lda, *)
      type(speedwell_options), intent(in), optional :: options
      type(c_ptr), intent(out) :: factors
    end function
    integer(c_int) function speedwell_zfactor(n, a, lda, options, factors) bind(c)
      import
      integer(c_int64_t), value :: n, lda
      complex(c_double_complex), intent(in), target :: a(lda, *)
      type(speedwell_options), intent(in), optional :: options
      type(c_ptr), intent(out) :: factors
    end function
    integer(c_int) function speedwell_solve_factored(factors, nrhs, b, ldb, result) bind(c)
      import
      type(c_ptr), value :: factors
      integer(c_int64_t), value :: nrhs, ldb
      real(c_double), intent(inout) :: b(ldb, *)
      type(speedwell_result), intent(inout), optional :: result
    end function
    integer(c_int) function speedwell_solve_factored_transposed(factors, nrhs, b, ldb, result) &
        bind(c)
      import
      type(c_ptr), value :: factors
      integer(c_int64_t), value :: nrhs, ldb
      real(c_double), intent(inout) :: b(ldb, *)
      type(speedwell_result), intent(inout), optional :: result
    end function
    integer(c_int) function speedwell_zsolve_factored(factors, transpose, nrhs, b, ldb, result) &
        bind(c)
      import
      type(c_ptr), value :: factors
      integer(c_int), value :: transpose
      integer(c_int64_t), value :: nrhs, ldb
      complex(c_double_complex), intent(inout) :: b(ldb, *)
      type(speedwell_result), intent(inout), optional :: result
    end function
    subroutine speedwell_free(factors) bind(c)
      import
      type(c_ptr), value :: factors
    end subroutine
    subroutine speedwell_release() bind(c)
    end subroutine
  end interface

  !> info = speedwell_solve(a, b): solves A x = b on this process alone, and writes x over b, a
  !> vector or a matrix of right-hand sides, real or complex. The columns of a are the order of A;
  !> further rows of a and b are not looked at.
  interface speedwell_solve
    module procedure solve_d1, solve_d2, solve_z1, solve_z2
  end interface

contains

  integer(c_int) function solve_d1(a, b) result(info)
    real(c_double), intent(in), contiguous :: a(:, :)
    real(c_double), intent(inout), contiguous :: b(:)
    info = speedwell_dgesv(size(a, 2, c_int64_t), 1_c_int64_t, a, size(a, 1, c_int64_t), b, &
                           size(b, 1, c_int64_t))
  end function

  integer(c_int) function solve_d2(a, b) result(info)
    real(c_double), intent(in), contiguous :: a(:, :)
    real(c_double), intent(inout), contiguous :: b(:, :)
    info = speedwell_dgesv(size(a, 2, c_int64_t), size(b, 2, c_int64_t), a, &
                           size(a, 1, c_int64_t), b, size(b, 1, c_int64_t))
  end function

  integer(c_int) function solve_z1(a, b) result(info)
    complex(c_double_complex), intent(in), contiguous :: a(:, :)
    complex(c_double_complex), intent(inout), contiguous :: b(:)
    info = speedwell_zgesv(size(a, 2, c_int64_t), 1_c_int64_t, a, size(a, 1, c_int64_t), b, &
                           size(b, 1, c_int64_t))
  end function

  integer(c_int) function solve_z2(a, b) result(info)
    complex(c_double_complex), intent(in), contiguous :: a(:, :)
    complex(c_double_complex), intent(inout), contiguous :: b(:, :)
    info = speedwell_zgesv(size(a, 2, c_int64_t), size(b, 2, c_int64_t), a, &
                           size(a, 1, c_int64_t), b, size(b, 1, c_int64_t))
  end function

  !> What went wrong in the last call of this thread, in one line; empty if nothing did.
  function speedwell_last_error() result(words)
    character(:), allocatable :: words
    interface
      type(c_ptr) function last_error() bind(c, name="speedwell_last_error")
        import
      end function
    end interface
    words = text(last_error())
  end function

  !> The version of the library that the program runs with.
  function speedwell_version() result(words)
    character(:), allocatable :: words
    interface
      type(c_ptr) function version() bind(c, name="speedwell_version")
        import
      end function
    end interface
    words = text(version())
  end function

  function text(from) result(words)
    type(c_ptr), intent(in) :: from
    character(:), allocatable :: words
    character(c_char), pointer :: letters(:)
    integer(c_size_t) :: i
    interface
      integer(c_size_t) function length(of) bind(c, name="strlen")
        import
        type(c_ptr), value :: of
      end function
    end interface
    call c_f_pointer(from, letters, [length(from)])
    allocate(character(size(letters)) :: words)
    do i = 1, size(letters, kind=c_size_t)
      words(i:i) = letters(i)
    end do
  end function
end module
