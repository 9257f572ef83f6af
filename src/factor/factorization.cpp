#include "factor/factorization.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <limits>
#include <vector>

#include "matrix/panel_ring.hpp"

namespace lupine {

namespace {

// The messages of one panel.
struct Flight {
  Carrier left;
  Carrier right;

  /// Moves them on; true once the host is through with both.
  bool test() {
    const bool left_done = left.test();
    return right.test() && left_done;
  }
  void arrive_in(Queue& queue) const {
    left.arrive_in(queue);
    right.arrive_in(queue);
  }
};

// Adds up the time between pairs of events, once they are reached.
class Spans {
 public:
  /// Runs `work`, which gives its operations to `queue`; their time counts in `total`.
  template <class Work>
  void time(Queue& queue, double& total, const Work& work) {
    EventPtr begin = queue.record();
    work();
    spans_.push_back({std::move(begin), queue.record(), &total});
    while (!spans_.empty() && spans_.front().end->reached()) add_first();
  }
  /// @pre all queues are synchronized
  void finish() {
    while (!spans_.empty()) add_first();
  }

 private:
  struct Span {
    EventPtr begin;
    EventPtr end;
    double* total;
  };
  void add_first() {
    *spans_.front().total += spans_.front().end->seconds_since(*spans_.front().begin);
    spans_.pop_front();
  }
  std::deque<Span> spans_;
};

class Factorization {
 public:
  Factorization(Transport& transport, DistributedMatrix& a, const FactorOptions& options,
                const Clock& clock)
      : transport_(transport),
        grid_(transport.grid()),
        device_(transport.device()),
        a_(a),
        options_(options),
        clock_(clock),
        plan_(a.rows(), a.columns(), options.width),
        steps_(options.steps < 0 ? plan_.count() : std::min(options.steps, plan_.count())),
        panels_(device_.make_queue(Priority::high)),
        updates_(device_.make_queue(Priority::normal)),
        ring_(device_, a.rows(), a.columns(), options.precision, options.width,
              options.lookahead + 1),
        status_(device_.allocate(sizeof(FactorStatus))) {
    for (int slot = 0; slot < ring_.slots(); ++slot)
      flights_.push_back({{transport, Along::row, ring_.largest_left()},
                          {transport, Along::column, ring_.largest_right()}});
    const FactorStatus nothing;
    device_.upload(*panels_, std::span(&nothing, 1), status());
    updated_ = updates_->record();
    if (grid_.all().size() > 1)
      poll_ = [this] {
        for (Flight& f : flights_) f.test();
      };
  }

  // Panel k is factored as soon as the panels before it have reached its own row and column, and
  // travels while panel k - lookahead updates the rest. Where queues run side by side, that update
  // is given first.
  FactorOutcome run(const ColumnsDone& done) {
    const std::int64_t depth = options_.lookahead;
    const bool update_first = depth > 0 && device_.overlaps();
    for (std::int64_t k = 0; k < steps_; ++k) {
      const Step step = plan_[k];
      const EventPtr before = updated_;
      receive(k - ring_.slots());  // its memory is the next panel's
      if (update_first) {
        device_.share(k >= depth ? panel_part(step) : 0);
        update_trailing(k - depth, step);
      }
      panels_->wait(*before);
      factor_panel(std::max<std::int64_t>(k - depth, 0), k);
      if (!update_first) update_trailing(k - depth, step);
      before->wait();  // what is given runs no more than a step behind
      if (done && k > 0) done(step.begin.value);
      if (time_to_agree(k) && !agree(std::max<std::int64_t>(k - depth, 0), k).usable()) break;
    }
    device_.share(0);
    for (Flight& f : flights_) wait_for(f);
    panels_->synchronize();
    updates_->synchronize();
    transport_.synchronize();
    spans_.finish();
    if (done && outcome_.usable() && steps_ == plan_.count()) done(a_.rows().size());
    return outcome_;
  }

 private:
  FactorStatus* status() const { return status_.as<FactorStatus>(); }
  Flight& flight(std::int64_t k) { return flights_[static_cast<std::size_t>(k % ring_.slots())]; }

  // Panel k: what the panels from `oldest` on still owe its column and row, then L_ik and U_kj.
  void factor_panel(std::int64_t oldest, std::int64_t k) {
    Panel& next = ring_.shape(plan_[k]);
    const Step& s = next.step;
    // Before blocking for the diagonal: somebody may wait for what this rank has to pass on.
    for (auto q = oldest; q < k && (s.in_row || s.in_column); ++q) receive(q).arrive_in(*panels_);
    for (auto q = oldest; q < k && s.in_column; ++q) update_column(ring_[q], s);
    factor_diagonal(s);                   // A_kk = L_kk U_kk
    if (s.in_column) solve_column(next);  // L_ik = A_ik U_kk^-1, rounded
    flight(k).left.start(s.owner_column, options_.broadcast, k, Panel::bytes(next.left_header),
                         Panel::bytes(next.left), panels_->record());
    for (auto q = oldest; q < k && s.in_row; ++q) update_row(ring_[q], s);
    if (s.in_row) solve_row(next);  // U_kj = L_kk^-1 A_kj, rounded
    flight(k).right.start(s.owner_row, options_.broadcast, k, Panel::bytes(next.right_header),
                          Panel::bytes(next.right), panels_->record());
  }

  // Of what a step gives this rank to do, how much is the panel's. To each of a panel's w columns
  // and rows belong 2 w operations of the update before it, and about 3 w, counted at the update's
  // rate, of solves.
  double panel_part(const Step& s) const {
    const auto m = static_cast<double>(a_.rows().local_size() - s.trailing_row.value);
    const auto n = static_cast<double>(a_.columns().local_size() - s.trailing_column.value);
    const double panel = 5 * static_cast<double>(s.width()) * (m * s.in_column + n * s.in_row);
    const double update = 2 * m * n;
    return update > 0 ? panel / (panel + update) : 0;
  }

  // The messages of panel k, once the host is through with them.
  const Flight& receive(std::int64_t k) {
    Flight& f = flight(std::max<std::int64_t>(k, 0));
    if (k >= 0) wait_for(f);
    return f;
  }

  // The others move on meanwhile: somebody may wait for what this rank has to pass on.
  void wait_for(Flight& f) {
    const Stopwatch watch(clock_, outcome_.times.broadcast);
    while (!f.test())
      if (poll_) poll_();
  }

  // On its owner; then on all of its process row and column.
  void factor_diagonal(const Step& s) {
    if (!s.in_row && !s.in_column) return;
    const MatrixView<float> diagonal = ring_.diagonal(s.width());
    if (s.owns_diagonal())
      spans_.time(*panels_, outcome_.times.panel, [&] {
        device_.factor_diagonal(*panels_, a_.diagonal(s), s.begin.value, status());
        device_.copy(*panels_, a_.diagonal(s), diagonal);
      });
    const Stopwatch watch(clock_, outcome_.times.broadcast);
    const auto block = std::as_writable_bytes(
        std::span(diagonal.data, static_cast<std::size_t>(s.width() * s.width())));
    if (s.in_row) transport_.broadcast(*panels_, Along::row, s.owner_column, block);
    if (s.in_column) transport_.broadcast(*panels_, Along::column, s.owner_row, block);
  }

  void solve_column(const Panel& next) {
    const Step& s = next.step;
    const auto column = a_.from(s.trailing_row, s.column).block(0, 0, next.left.rows, s.width());
    spans_.time(*panels_, outcome_.times.panel, [&] {
      device_.solve_right_upper(*panels_, ring_.diagonal(s.width()), column, options_.precision);
      device_.cast(*panels_, column, 1, next.left, next.left_header, status());
    });
  }

  void solve_row(const Panel& next) {
    const Step& s = next.step;
    const auto row = a_.from(s.row, s.trailing_column).block(0, 0, s.width(), next.right.cols);
    spans_.time(*panels_, outcome_.times.panel, [&] {
      device_.solve_left_lower(*panels_, ring_.diagonal(s.width()), row, options_.precision);
      device_.cast(*panels_, row, -1, next.right, next.right_header, status());
    });
  }

  // A_ik -= L_iq U_qk for i >= k: what panel k's column waits for.
  void update_column(const Panel& q, const Step& k) {
    update(*panels_, outcome_.times.panel, q, k.row, k.column, a_.rows().local_size() - k.row.value,
           k.width());
  }

  // A_kj -= L_kq U_qj for j > k: what its row waits for.
  void update_row(const Panel& q, const Step& k) {
    update(*panels_, outcome_.times.panel, q, k.row, k.trailing_column, k.width(),
           a_.columns().local_size() - k.trailing_column.value);
  }

  // A_ij -= L_iq U_qj for i, j > k: the rest.
  void update_trailing(std::int64_t q, const Step& k) {
    if (q < 0) return;
    receive(q).arrive_in(*updates_);
    update(*updates_, outcome_.times.update, ring_[q], k.trailing_row, k.trailing_column,
           a_.rows().local_size() - k.trailing_row.value,
           a_.columns().local_size() - k.trailing_column.value);
    updated_ = updates_->record();
  }

  void update(Queue& queue, double& time, const Panel& q, LocalIndex i, LocalIndex j,
              std::int64_t m, std::int64_t n) {
    const std::int64_t width = q.step.width();
    spans_.time(queue, time, [&] {
      device_.update(queue, q.left.block(i - q.step.trailing_row, 0, m, width), q.left_header,
                     q.right.block(0, j - q.step.trailing_column, width, n), q.right_header,
                     a_.from(i, j).block(0, 0, m, n), poll_);
    });
  }

  bool time_to_agree(std::int64_t k) const {
    const std::int64_t interval = std::max<std::int64_t>(plan_.count() / 32, 1);
    return k % interval == interval - 1 || k == steps_ - 1;
  }

  // What one rank met, all know: nobody waits for a panel that will not come.
  const FactorOutcome& agree(std::int64_t oldest, std::int64_t k) {
    // Before blocking for the others' word: somebody may wait for what this rank has to pass on.
    for (auto q = oldest; q < k; ++q) receive(q);
    FactorStatus mine;
    device_.download(*panels_, status(), std::span(&mine, 1));
    constexpr auto none = std::numeric_limits<std::int64_t>::max();
    std::array<std::int64_t, 2> first{mine.bad_pivot < 0 ? none : mine.bad_pivot,
                                      mine.nonfinite != 0 ? 0 : 1};
    const Stopwatch watch(clock_, outcome_.times.broadcast);
    grid_.all().all_reduce(first, Reduction::min);
    outcome_.bad_pivot = first[0] == none ? -1 : first[0];
    outcome_.nonfinite = first[1] == 0;
    return outcome_;
  }

  Transport& transport_;
  const ProcessGrid& grid_;
  Device& device_;
  DistributedMatrix& a_;
  FactorOptions options_;
  const Clock& clock_;
  Plan plan_;
  std::int64_t steps_;
  std::unique_ptr<Queue> panels_;
  std::unique_ptr<Queue> updates_;
  PanelRing ring_;
  Buffer status_;
  std::vector<Flight> flights_;
  EventPtr updated_;  // the trailing matrix is up to date but for the panels in flight
  Poll poll_;
  Spans spans_;
  FactorOutcome outcome_;
};

}  // namespace

FactorOutcome factorize(Transport& transport, DistributedMatrix& a, const FactorOptions& options,
                        const Clock& clock, const ColumnsDone& done) {
  return Factorization(transport, a, options, clock).run(done);
}

}  // namespace lupine
