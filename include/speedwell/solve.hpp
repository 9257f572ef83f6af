// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Solves a user's own system A x = b in FP64: LU with partial pivoting in low precision, refined
/// to FP64, and factors of higher precision where the measured errors ask for them.
///
/// SolveOptions::precision `automatic` plans its steps by their cost: a 16-bit update, an FP32
/// update (on GPUs Precision::fp16x3 where that is the faster one), and FP64 LU, the first two only
/// where their LU is predicted, by measured rates, to take at most 0.6 of the time of the next
/// step's. Rates are measured once in a process, for n / max(P, Q) from 2048 on. A sample of A
/// drops steps whose factors would be of no use, and more than 8 right-hand sides drop those whose
/// refinement would cost more than they save, unless SolveOptions::first names the first step.
/// After a step that has not solved, FP64 is next, or FP32 where the sample had predicted that the
/// 16-bit step might fail. A refinement is given up where it is forecast to take longer than the
/// next step's LU.
///
/// Each step refines x as SolveOptions::refine says. It accepts x if the componentwise
/// backward error (Oettli & Prager), measured in FP64 with A as it was given, is at most
/// SolveOptions::tolerance. With FP64 LU and the default tolerance, a normwise backward error of
/// the scaled system within the tolerance suffices. With SolveOptions::condition, a step before the
/// last is also left where A may be singular to working precision, or where its factors are too far
/// from A for an estimate of the condition number. Where entries grow in the FP64 LU, and its
/// factors do not suffice, a further step rotates A at random from both sides before its LU
/// (docs/numerics.md).
///
/// A small system, of n up to 640 on a process alone, takes an FP64 LU at once, with the same
/// checks, scales, errors and limits: the steps and their set-up would take longer. It runs on the
/// CPU, also where there are GPUs, since to start one takes seconds; up to n = 256 on one thread.
/// The steps are taken at any n where SolveOptions ask for what they alone know: a block
/// size, a grid, look-ahead, chunk, another broadcast, DeviceKind::cuda, GPUs, a stall timeout, a
/// precision below FP64, or GMRES.
///
/// A complex system is solved as a real one of twice the order, whose unknowns are the real and the
/// imaginary parts of x, but its factors are complex: norms are the largest magnitude of any of
/// these parts, and so are those of errors.
///
/// docs/numerics.md has the formulas and their sources. Norms are infinity norms, and eps = 2^-53.
#pragma once

#include <mpi.h>
#include <speedwell/error.hpp>
#include <speedwell/export.hpp>
#include <speedwell/matrix.hpp>  // IWYU pragma: export
#include <speedwell/options.hpp>
#include <speedwell/progress.hpp>
#include <speedwell/solution.hpp>  // IWYU pragma: export

#include <cstdint>
#include <memory>

namespace speedwell {

/// A factored matrix: it is factored once and solves many times. The constructor, solve(),
/// condition() and the destructor are collective over the communicator; one thread of a process at
/// a time may call them. The calling thread makes all MPI calls, so MPI_THREAD_FUNNELED suffices.
class SPEEDWELL_API Factorization {
 public:
  /// Distributes, scales and factors A, in the first step that gives usable factors.
  /// @param comm the ranks of the process grid
  /// @param a must stay as it is while the Factorization lives
  /// @param options equal on every rank
  /// @param progress called on rank 0 while a step factors A, by later solves too; empty: not
  /// called
  /// @param interrupt asked whether to end this call or a later solve(); empty: not asked
  /// @throws Interrupted (every rank) where any rank's `interrupt` has returned true
  /// @throws UsageError (every rank) where the input or the options are not allowed, the problem
  ///         does not fit, ranks differ in this call or its arguments, or MPI is not initialized
  /// @throws SingularError (every rank) where a pivot of the FP64 LU is exactly zero
  /// @throws AccuracyError (every rank) where no step gives usable factors
  /// @throws AgreedFault (every rank) where memory, MPI or the device fails and all ranks know it
  /// @throws Fault (one rank, which it names) where the other ranks may not know it: the program
  ///         should then end all ranks (MPI_Abort)
  Factorization(MPI_Comm comm, const Matrix& a, const SolveOptions& options = {},
                const ProgressFunction& progress = {}, const InterruptFunction& interrupt = {});
  /// The same on this process alone, for programs that know no MPI: MPI is initialized where it was
  /// not (MPI_THREAD_SERIALIZED), and then finalized at the program's end. RunOptions::threads 0
  /// stands for the threads that OpenMP would use.
  /// @param a must stay as it is while the Factorization lives
  /// @param options of the solves
  /// @param progress called while a step factors A, by later solves too; empty: not called
  /// @param interrupt asked whether to end this call or a later solve(); empty: not asked
  /// @throws Error as above: UsageError, SingularError, AccuracyError, Interrupted, AgreedFault,
  ///         Fault
  explicit Factorization(const Matrix& a, const SolveOptions& options = {},
                         const ProgressFunction& progress = {},
                         const InterruptFunction& interrupt = {});
  /// Moves the factors.
  Factorization(Factorization&&) noexcept;
  /// Moves the factors. Collective, since it releases those of the target.
  /// @return this object
  Factorization& operator=(Factorization&&) noexcept;
  ~Factorization();

  /// Solves A x = b, A^T x = b or A^H x = b with the present factors. Where these are too weak for
  /// b, it factors A in the next step and keeps the new factors. The steps and times of the first
  /// solution include those of the constructor; those of a later one begin with the present
  /// factors, at no cost.
  /// @param b the right-hand sides, which also determine the form of x
  /// @param transpose no: A x = b, yes: A^T x = b, conjugate: A^H x = b; equal on every rank
  /// @return x with its errors, each of them accepted: those of the system that was solved
  /// @throws AccuracyError (every rank) where no step that is left gives an x that is accepted
  /// @throws Error as the constructor: UsageError, SingularError, Interrupted, AgreedFault, Fault
  Solution solve(const RightHandSide& b, Transpose transpose = Transpose::no);

  /// An estimate by the present factors of the condition number in the infinity norm of the scaled
  /// matrix, as Solution::condition is. The first call, or the first solve that needs it, makes the
  /// estimate, also with ConditionCheck::off.
  /// @param transpose yes: that of A^T, and so that of A in the 1-norm; equal on every rank
  /// @return the estimate, equal on every rank
  /// @throws Error as solve() does: UsageError, SingularError, AccuracyError, Interrupted,
  ///         AgreedFault, Fault
  ConditionEstimate condition(Transpose transpose = Transpose::no);
  /// det(A), by the pivots of FP64 factors without growth, which are made and kept where there are
  /// none. Errors and doubts: docs/numerics.md, 5.10.
  /// @return the determinant, equal on every rank
  /// @throws SingularError (every rank) where a pivot is exactly zero, so that it is 0
  /// @throws UsageError (every rank) where the options allow no FP64 factors
  /// @throws AccuracyError (every rank) where there is a doubt and the options are `strict`
  /// @throws Error as solve() does: AccuracyError, Interrupted, AgreedFault, Fault
  Determinant determinant();
  /// @return The precision of the present factors, which a solve may have raised;
  ///         Precision::automatic where a solve that has failed left none.
  Precision precision() const;

  /// @return The order of A.
  std::int64_t n() const;

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

/// Solves A x = b. It equals Factorization(comm, a, options, progress).solve(b), but it chooses its
/// steps for the number of right-hand sides, and checks b before it loads A: its sizes, and its
/// numbers unless a function computes them. Collective over `comm`.
/// @param comm the ranks of the process grid
/// @param a the matrix
/// @param b the right-hand sides, which also determine the form of x
/// @param options equal on every rank
/// @param progress called on rank 0 while a step factors A; empty: not called
/// @param interrupt asked whether to end the call; empty: not asked
/// @return x with its errors, each of them accepted
/// @throws Error as Factorization does: UsageError, SingularError, AccuracyError, Interrupted,
///         AgreedFault, Fault
SPEEDWELL_API Solution solve(MPI_Comm comm, const Matrix& a, const RightHandSide& b,
                             const SolveOptions& options = {},
                             const ProgressFunction& progress = {},
                             const InterruptFunction& interrupt = {});

/// Solves A x = b on this process alone, as a Factorization without a communicator does.
/// @param a the matrix
/// @param b the right-hand sides, which also determine the form of x
/// @param options of the solve
/// @param progress called while a step factors A; empty: not called
/// @param interrupt asked whether to end the call; empty: not asked
/// @return x with its errors, each of them accepted
/// @throws Error as Factorization does: UsageError, SingularError, AccuracyError, Interrupted,
///         AgreedFault, Fault
SPEEDWELL_API Solution solve(const Matrix& a, const RightHandSide& b,
                             const SolveOptions& options = {},
                             const ProgressFunction& progress = {},
                             const InterruptFunction& interrupt = {});

/// Gives back what solves of this process alone have kept on GPUs for later ones: streams, handles,
/// and at most an eighth of each GPU's memory. The next solve makes them anew. Without a GPU,
/// nothing is done.
SPEEDWELL_API void release();

}  // namespace speedwell
