// SPDX-License-Identifier: BSD-3-Clause
#include "solve/small_solver.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <utility>

#include "core/numbers.hpp"
#include "core/option_range.hpp"
#include "device/cpu/pivoted_lu.hpp"
#include "host/lapack.hpp"
#include "host/lapack_lu.hpp"
#include "host/processor.hpp"
#include "host/thread_scope.hpp"
#include "matrix/distributed_matrix.hpp"
#include "refine/refinement.hpp"
#include "solve/answers.hpp"
#include "solve/determinant.hpp"
#include "solve/probe_seed.hpp"
#include "solve/proofs.hpp"
#include "solve/stepped_solver.hpp"

namespace speedwell {

namespace {

// The right-hand sides of a block, which are solved together.
constexpr std::int64_t most_together = 512;

// The order up to which one thread is as fast as a team, whose threads wait for each other, and for
// a core where other threads of the program spin: measured with two threads, and with more of them
// only that it is not less.
std::int64_t one_thread_limit(Field field, Precision precision, int threads) {
  const bool real = field == Field::real;
  if (threads > 2) return 256;
  if (precision == Precision::fp32) return real ? 1000 : 500;
  return real ? small_limit() : 320;
}

/// The grid of the calling thread's process alone. It is made once for each thread, since making
/// its communicators takes longer than solving a small system.
std::shared_ptr<const ProcessGrid> grid_alone() {
  thread_local std::shared_ptr<const ProcessGrid> grid;
  if (!grid)
    grid = std::make_shared<const ProcessGrid>(Communicator::duplicate(comm_self()),
                                               GridShape{1, 1, GridOrder::row});
  return grid;
}

/// Calls `use` with a matrix in FP64 as a MatrixView of double or of complex double.
template <class Use>
auto with_fp64(const AnyMatrix& m, const Use& use) {
  return m.field == Field::real ? use(m.as<double>()) : use(m.as<std::complex<double>>());
}

std::size_t size_of(std::int64_t n) {
  return static_cast<std::size_t>(n);
}

int threads_of(const SolveOptions& options) {
  return options.run.threads > 0 ? options.run.threads : bound_cores();
}

}  // namespace

std::int64_t small_limit(bool shared) {
  return shared ? 1000 : 640;
}

SmallResources small_resources(Field field, Precision precision, std::int64_t n, int threads) {
  if (n <= one_thread_limit(field, precision, threads)) return {nullptr, 1, {}};
  const LapackRoutines* const shared = shared_lapack(threads);
  if (shared == nullptr) return {nullptr, threads, {}};
  // Up to here the other library's products alone are faster than its getrf; with more threads that
  // has not been measured.
  const std::int64_t by_products = field == Field::real && threads <= 2 ? 1500 : 0;
  return {shared, 1, {n > by_products ? shared : nullptr}};
}

bool is_small(CommHandle comm, std::int64_t n, const SolveOptions& o) {
  RunOptions known;
  known.threads = o.run.threads;
  if (o.run.device == DeviceKind::cpu) known.device = DeviceKind::cpu;
  const auto in_fp64 = [](Precision p) {
    return p == Precision::automatic || p == Precision::fp64;
  };
  const auto shares = [&] {
    return shared_lapack(threads_of(o)) != nullptr &&
           (o.run.device == DeviceKind::cpu || count_gpus() == 0);
  };
  return n >= 1 && n <= small_limit(true) && (n <= small_limit() || shares()) && o.run == known &&
         in_fp64(o.precision) && in_fp64(o.first) && o.refine != RefineMethod::gmres &&
         is_allowed(range_of("threads"), o.run.threads) &&
         is_allowed(range_of("tolerance"), o.tolerance) &&
         is_allowed(range_of("max_iterations"), o.max_iterations) && ranks_in(comm) == 1 &&
         has_lapack();
}

class SmallSolver::Lu final : public FactorSolver {
 public:
  Lu(Device& device, const UserMatrix& a, const SmallResources& resources)
      : device_(device),
        resources_(resources),
        lu_(device, a.element_rows(), a.element_columns(), Precision::fp64, a.field()),
        pivots_(size_of(a.element_rows().size())) {}

  AnyMatrix local() const { return lu_.local(); }
  /// Factors R A C, which is in local(). Returns its largest entry then, in magnitude; infinity
  /// where a pivot is zero or not finite.
  double factor() {
    const std::int64_t zero =
        with_fp64(local(), [&](const auto& whole) { return resources_.factor(whole, pivots_); });
    if (zero >= 0) return std::numeric_limits<double>::infinity();
    const auto queue = device_.make_queue(Priority::normal);
    Vector most(size_of(local().columns));  // a CPU device takes host memory
    device_.largest_of_columns(*queue, local().real(), nullptr, most.data(), nullptr);
    return largest(most);
  }
  PivotProduct determinant(const Communicator& all, const Equilibration& scales) {
    std::int64_t exchanges = 0;
    for (std::size_t i = 0; i < pivots_.size(); ++i)
      exchanges += std::cmp_not_equal(pivots_[i], i + 1) ? 1 : 0;
    return determinant_of(all, device_, lu_, exchanges, scales);
  }
  MultiVector solve(const MultiVector& r) override { return solved(Transpose::no, r); }
  MultiVector solve_transposed(const MultiVector& r) override {
    return solved(Transpose::conjugate, r);
  }

 private:
  MultiVector solved(Transpose transpose, MultiVector v) const {
    with_fp64(local(), [&]<class T>(const MatrixView<T>& whole) {
      const std::size_t count = v.all().size() * sizeof(double) / sizeof(T);
      solve_by_lapack<T>(transpose, whole, pivots_,
                         std::span<T>(reinterpret_cast<T*>(v.all().data()), count),
                         resources_.lapack);
    });
    return v;
  }

  Device& device_;
  SmallResources resources_;
  DistributedMatrix lu_;
  std::vector<int> pivots_;
};

SmallSolver::SmallSolver(const Matrix& a, const SolveOptions& options,
                         const ProgressFunction& progress, const RunHooks& hooks)
    : run_(clock_, nullptr, hooks),
      alone_(grid_alone()),
      grid_(*alone_, run_),
      source_(a),
      options_(options),
      progress_(progress),
      threads_(threads_of(options)),
      resources_(small_resources(field(), Precision::fp64, n(), threads_)),
      seed_(agreed_seed(grid_.all(), options.probe_seed)),
      device_(make_device({.kind = DeviceKind::cpu, .threads = resources_.threads, .run = run_})),
      accuracy_(accuracy_on(*device_, options.accuracy)) {
  const MatrixSource& source = source_.source();
  source.check(grid_.all());
  const Distribution rows(numbers(), numbers(), 1, 0);
  source.in_place(grid_, rows, Distribution(n(), n(), 1, 0));  // checks an array's pointer
  step_.precision = Precision::fp64;
}

SmallSolver::~SmallSolver() = default;

void SmallSolver::check(const RightHandSideSource& b) {
  check_sides(b, grid_.all(), source_.source());
  Vector x;
  b.prepare(grid_, numbers(), x);
  if (b.count() == 0 || !b.at_hand()) return;
  Vector values(size_of(numbers()));
  require_one(b.count(), [&](std::int64_t k) {
    b.get(grid_, k, values);
    return wrong_value(values, k, field());
  });
}

void SmallSolver::factor() {
  if (!load_and_factor()) take_over();
}

// False if the factors are not usable. @throws UsageError if A has an Inf or NaN
bool SmallSolver::load_and_factor() {
  const double begin = run_.now();
  {
    const ThreadScope threads(threads_);
    a_.emplace(grid_, *device_, source_.source(), n());
  }
  const ThreadScope threads(resources_.threads);
  const double loaded = run_.now();
  std::vector<std::uint64_t> sums;
  scaled_.emplace(grid_, *device_, *a_, options_.equilibrate ? Scaling::rows_first : Scaling::off,
                  &sums);
  const double scaled = run_.now();
  const std::uint64_t seed_of_a = seed_for(grid_.all(), seed_, sums.back());
  checksum_.emplace(std::move(sums));
  auto factors = std::make_unique<Lu>(*device_, *a_, resources_);
  scaled_->round_to(factors->local());
  stop_if_ended();
  const double most = run_.stage(Activity::factorization, [&] { return factors->factor(); });
  const double growth = growth_of(most, scaled_->scales().largest);
  load_seconds_ = loaded - begin;
  scale_seconds_ = scaled - loaded;
  step_.factor_seconds = run_.now() - scaled;
  step_.growth = growth;
  if (!std::isfinite(most)) return false;
  const FactorError error{eps, growth, underflow_of(Precision::fp64, Precision::fp64)};
  System system = scaled_->system();
  if (!scaled_->is_held()) system.watch();
  factored_ = std::make_unique<FactoredSystem>(*device_, std::move(system), std::move(factors),
                                               error, seed_of_a);
  if (progress_) run_.call([this] { progress_({n(), n(), step_.factor_seconds}); });
  stop_if_ended();
  return true;
}

// The solver that takes over, with A as it was loaded: a function is not called again, unless A has
// changed in memory since.
// @throws AccuracyError if A has, and is the caller's
std::unique_ptr<Solver> SmallSolver::stepped() {
  const ChangeOfMatrix changed = checksum_ ? scaled_->what_changed(*checksum_) : ChangeOfMatrix{};
  if (changed.of_a && !a_->is_copy()) {
    step_.why = changed.why;
    Solution none;
    none.steps = {step_};
    none.probe_seed = seed_;
    throw no_solution(std::move(none));
  }
  const auto matrix = [&] {
    if (!a_ || changed.of_a) return source_;
    const auto whole = a_->local().as<double>();
    const StorageOrder order =
        a_->transposed() ? StorageOrder::row_major : StorageOrder::column_major;
    return field() == Field::real
               ? Matrix::dense(n(), whole.data, whole.ld, 0, order)
               : Matrix::complex_dense(n(),
                                       reinterpret_cast<const std::complex<double>*>(whole.data),
                                       whole.ld / 2, 0, order);
  };
  SolveOptions options = options_;
  options.probe_seed = seed_;
  if (options.precision == Precision::automatic) options.first = Precision::fp64;
  return std::make_unique<SteppedSolver>(comm_self(), matrix(), options, progress_, run_.hooks());
}

Solver& SmallSolver::take_over() {
  std::unique_ptr<Solver> other = stepped();
  certificate_.reset();
  factored_.reset();
  general_ = std::move(other);
  general_->factor();
  return *general_;
}

Precision SmallSolver::precision() const {
  return general_ ? general_->precision() : Precision::fp64;
}

ConditionEstimate SmallSolver::condition(Transpose transpose) {
  if (general_) return general_->condition(transpose);
  const ThreadScope threads(resources_.threads);
  return factored_->of(a_->in_memory(transpose).transpose).inverse().condition();
}

Determinant SmallSolver::determinant() {
  if (!general_ && has_grown(factored_->factor_error().growth, n())) take_over();
  if (general_) return general_->determinant();
  const ThreadScope threads(resources_.threads);
  const Determinant found =
      judged(static_cast<Lu&>(factored_->solver()).determinant(all(), scaled_->scales()),
             *factored_, *device_, *a_);
  const bool holds = found.doubt.empty() && scaled_->what_changed(*checksum_).why.empty();
  return holds ? found : take_over().determinant();
}

Solution SmallSolver::solve(const RightHandSideSource& sides, Transpose transpose) {
  if (general_) return general_->solve(sides, transpose);
  check_sides(sides, grid_.all(), source_.source());
  const auto [op, is_conjugated] = a_->in_memory(transpose);
  const ConjugatedSides conjugated(sides);
  const RightHandSideSource& b = is_conjugated ? conjugated : sides;
  const std::vector<MultiVector> given = get(b, op);
  require_one(std::max<std::int64_t>(b.count(), 1), [&](std::int64_t k) {
    return wrong_value(given[size_of(k / most_together)][k % most_together], k, field());
  });
  // What a function has returned is kept, since it may not be called again.
  Vector kept;
  if (!b.at_hand())
    for (const MultiVector& block : given)
      kept.insert(kept.end(), block.all().begin(), block.all().end());
  const RightHandSide array =
      RightHandSide::dense(std::max<std::int64_t>(b.count(), 1), kept.data(), numbers());
  const ConjugatedSides as_given(array.source());
  const RightHandSideSource* same = &sides;
  if (!b.at_hand()) same = is_conjugated ? &as_given : &array.source();
  const auto is_finite = [](const MultiVector& block) {
    return std::ranges::all_of(block.all(), [](double value) { return std::isfinite(value); });
  };
  if (!std::ranges::all_of(given, is_finite)) {
    const std::unique_ptr<Solver> other = stepped();
    other->factor();
    return other->solve(*same, transpose);
  }
  Solution solution;
  if (solve_all(b, given, op, solution)) return solution;
  return take_over().solve(*same, transpose);
}

// All right-hand sides, or op(A) times ones where none is given, in blocks.
std::vector<MultiVector> SmallSolver::get(const RightHandSideSource& source, Transpose op) {
  const ThreadScope threads(threads_);
  b_read_.clear();
  if (source.count() == 0) {
    std::vector<MultiVector> ones{MultiVector(times_ones(grid_, *device_, *a_, op))};
    b_read_ = checksums_of(ones.front());
    return ones;
  }
  std::vector<MultiVector> blocks;
  for (std::int64_t k = 0; k < source.count(); ++k) {
    stop_if_ended();
    if (k % most_together == 0)
      blocks.emplace_back(numbers(), std::min(most_together, source.count() - k));
    source.get(grid_, k, blocks.back()[k % most_together]);
    b_read_.emplace_back(checksum_of(blocks.back()[k % most_together]));
  }
  return blocks;
}

// False if an x is not accepted, or in doubt because entries have grown.
bool SmallSolver::solve_all(const RightHandSideSource& b, const std::vector<MultiVector>& given,
                            Transpose op, Solution& solution) {
  b.prepare(grid_, numbers(), solution.x);
  const ThreadScope threads(resources_.threads);
  const bool many = b.count() > Device::few_vectors;
  seen_.reset();
  StoredSolutions stored(std::max<std::int64_t>(b.count(), 1));
  for (const MultiVector& block : given)
    if (!solve_block(b, block, many, op, stored, solution)) return false;
  finish(op, solution);
  if (!stored.hold(grid_, b, solution.x) || !scaled_->what_changed(*checksum_, seen_).why.empty())
    return false;
  return solution.doubt.empty() || !has_grown(factored_->factor_error().growth, n());
}

bool SmallSolver::solve_block(const RightHandSideSource& b, const MultiVector& given, bool many,
                              Transpose op, StoredSolutions& stored, Solution& solution) {
  AnswerOptions options;
  options.refine = {.method = RefineMethod::ir,
                    .max_iterations = options_.max_iterations,
                    .stop = StopRule::componentwise,
                    .tolerance = options_.tolerance,
                    .forward = accuracy_ != Accuracy::backward};
  if (accuracy_ == Accuracy::certified)
    options.certificate = [this]() -> Certificate& {
      if (!certificate_)
        certificate_ =
            std::make_unique<Certificate>(*device_, factored_->system(), factored_->solver(),
                                          Precision::fp64, scaled_->entries());
      return *certificate_;
    };
  options.condition = options_.condition;
  options.many = many;
  const auto first = b_read_.begin() + std::ssize(solution.columns);
  options.b_read.assign(first, first + given.count());
  AnswerTimes times;
  Answers found = run_.stage(Activity::refinement, [&] {
    return answers(factored_->of(op), *scaled_, op, given, options, times);
  });
  stop_if_ended();
  step_.refine_seconds += times.refine;
  check_seconds_ += times.checks;
  proof_seconds_ += times.proofs;
  if (!found.changed.empty()) return false;
  if (!many) seen_ = factored_->of(op).system().checksum();
  for (std::int64_t k = 0; k < found.x.count(); ++k) {
    const SolveColumn& column = found.all[static_cast<std::size_t>(k)].column;
    if (!column.converged) return false;
    step_.iterations += column.iterations;
    stored.put(grid_, b, std::ssize(solution.columns), found.x[k], found.x_made[size_of(k)],
               solution.x);
    solution.columns.push_back(column);
  }
  return true;
}

void SmallSolver::finish(Transpose op, Solution& solution) {
  FactoredSystem& factored = factored_->of(op);
  const double begin = run_.now();
  solution.n = n();
  solution.accuracy = accuracy_;
  solution.probe_seed = seed_;
  solution.converged = true;
  solution.equilibrated = options_.equilibrate && scaled_->scales().scales();
  solution.norm_a = static_cast<double>(scaled_->norm(factored.system(), op));
  solution.condition = unknown;
  if (options_.condition != ConditionCheck::off) {
    const ConditionEstimate& condition = factored.inverse().condition();
    solution.condition = condition.value;
    solution.condition_at_least = condition.at_least;
    solution.doubt = doubt(factored, solution.columns);
  }
  step_.solved = true;
  solution.load_seconds = load_seconds_;
  solution.seconds = scale_seconds_ + step_.factor_seconds + step_.refine_seconds;
  solution.check_seconds = check_seconds_ + run_.now() - begin;
  RunOptions& chosen = solution.chosen = options_.run;
  chosen.nb = chosen.chunk = solution.panel_width = n();
  chosen.nprow = chosen.npcol = 1;
  chosen.lookahead = 0;
  chosen.device = DeviceKind::cpu;
  chosen.comm = CommMethod::mpi;
  chosen.threads = resources_.lapack != nullptr ? threads_ : resources_.threads;
  solution.device = device_->description();
  if (resources_.lapack != nullptr) solution.device += "; LU by the program's LAPACK";
  solution.steps = {step_};
  if (accuracy_ == Accuracy::certified) {
    solution.proof = announced_proof(n(), field(), Precision::fp64, true, {});
    solution.proof.seconds = proof_seconds_;
    tell_proof(certificate_.get(), factored.system(), op, solution);
  }
  // The next solve() begins with the present factors.
  step_ = {};
  step_.precision = Precision::fp64;
  step_.growth = factored.factor_error().growth;
  load_seconds_ = scale_seconds_ = check_seconds_ = proof_seconds_ = 0;
}

std::unique_ptr<Solver> make_solver(CommHandle comm, const Matrix& a, const SolveOptions& options,
                                    const ProgressFunction& progress, const RunHooks& hooks) {
  const bool on_host = !in_gpu_memory(a.source().array(0));
  if (on_host && is_small(comm, a.source().n(), options))
    return std::make_unique<SmallSolver>(a, options, progress, hooks);
  return std::make_unique<SteppedSolver>(comm, a, options, progress, hooks);
}

}  // namespace speedwell
