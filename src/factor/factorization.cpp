#include "factor/factorization.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "comm/panel_broadcast.hpp"
#include "matrix/panel_ring.hpp"

namespace lupine {

namespace {

// The messages of one panel. Headers are control data and travel on their own.
class Flight {
 public:
  Flight() = default;
  Flight(const ProcessGrid& grid, BroadcastMethod method, const Panel& panel) {
    const Step& s = panel.step;
    const std::int64_t k = 2 * s.index;
    messages_ = {
        PanelBroadcast(method, grid.row(), s.owner_column, Panel::bytes(panel.left_header), k),
        PanelBroadcast(method, grid.column(), s.owner_row, Panel::bytes(panel.right_header), k),
        PanelBroadcast(method, grid.row(), s.owner_column, Panel::bytes(panel.left), k + 1),
        PanelBroadcast(method, grid.column(), s.owner_row, Panel::bytes(panel.right), k + 1)};
  }
  /// Moves all messages on; true once they have been received and passed on.
  bool test() {
    bool done = true;
    for (PanelBroadcast& m : messages_) done = m.test() && done;
    return done;
  }

 private:
  std::array<PanelBroadcast, 4> messages_;
};

class Factorization {
 public:
  Factorization(const ProcessGrid& grid, Device& device, DistributedMatrix& a,
                const FactorOptions& options, const Clock& clock)
      : grid_(grid),
        device_(device),
        a_(a),
        options_(options),
        clock_(clock),
        plan_(a.rows(), a.columns(), options.width),
        queue_(device.make_queue(Priority::normal)),
        ring_(device, a.rows(), a.columns(), options.precision, options.width,
              options.lookahead + 1),
        flights_(static_cast<std::size_t>(options.lookahead) + 1) {
    if (grid.all().size() > 1)
      poll_ = [this] {
        for (Flight& f : flights_) f.test();
      };
  }

  // Panel k is factored as soon as the panels before it have reached its own row and column, and
  // travels while panel k - lookahead updates the rest.
  FactorOutcome run(const ColumnsDone& done) {
    const std::int64_t depth = options_.lookahead;
    for (std::int64_t k = 0; k < plan_.count(); ++k) {
      const Step step = plan_[k];
      receive(k - ring_.slots());
      for (std::int64_t q = std::max<std::int64_t>(k - depth, 0); q < k; ++q)
        if (step.in_row || step.in_column) update_panel(receive(q), step);
      Panel& next = ring_.shape(step);
      factor_panel(next);
      flight(k) = Flight(grid_, options_.broadcast, next);
      if (k >= depth) update_trailing(receive(k - depth), step);
      if (done) done(step.end.value);
      if (!time_to_agree(k)) continue;
      // Nobody may wait for a panel that this rank, in the reduction, no longer passes on.
      for (std::int64_t q = std::max<std::int64_t>(k - depth, 0); q < k; ++q) receive(q);
      if (!agree().usable()) break;
    }
    for (Flight& f : flights_) wait_for(f);
    return outcome_;
  }

 private:
  Flight& flight(std::int64_t k) { return flights_[static_cast<std::size_t>(k % ring_.slots())]; }

  // Panel k, once it is here.
  const Panel& receive(std::int64_t k) {
    if (k < 0) return ring_[0];
    wait_for(flight(k));
    return ring_[k];
  }

  // The others move on meanwhile: somebody may wait for what this rank has to pass on.
  void wait_for(Flight& f) {
    const Stopwatch watch(clock_, outcome_.times.broadcast);
    while (!f.test())
      if (poll_) poll_();
  }

  // A_kk = L_kk U_kk;  L_ik = A_ik U_kk^-1;  U_kj = L_kk^-1 A_kj;  both rounded once.
  void factor_panel(Panel& next) {
    const Step& s = next.step;
    if (!s.in_row && !s.in_column) return;
    const double begin = clock_.now();
    const double waited = outcome_.times.broadcast;
    const MatrixView<float> diagonal = factor_diagonal(s);
    if (s.in_column) {
      const auto column = a_.from(s.trailing_row, s.column).block(0, 0, next.left.rows, s.width());
      device_.solve_right_upper(*queue_, diagonal, column);
      device_.cast(*queue_, column, 1, next.left, next.left_header);
      note(*next.left_header);
    }
    if (s.in_row) {
      const auto row = a_.from(s.row, s.trailing_column).block(0, 0, s.width(), next.right.cols);
      device_.solve_left_lower(*queue_, diagonal, row);
      device_.cast(*queue_, row, -1, next.right, next.right_header);
      note(*next.right_header);
    }
    queue_->synchronize();
    outcome_.times.panel += clock_.now() - begin - (outcome_.times.broadcast - waited);
  }

  // A_kk = L_kk U_kk on its owner, then on all of its process row and column.
  MatrixView<float> factor_diagonal(const Step& s) {
    const MatrixView<float> diagonal = ring_.diagonal(s.width());
    if (s.owns_diagonal()) {
      device_.factor_diagonal(*queue_, a_.diagonal(s), s.begin.value, &outcome_.bad_pivot);
      device_.copy(*queue_, a_.diagonal(s), diagonal);
      queue_->synchronize();
    }
    const Stopwatch watch(clock_, outcome_.times.broadcast);
    const std::span<float> block(diagonal.data, static_cast<std::size_t>(s.width() * s.width()));
    if (s.in_row) grid_.row().broadcast(block, s.owner_column);
    if (s.in_column) grid_.column().broadcast(block, s.owner_row);
    return diagonal;
  }

  // A_ik -= L_iq U_qk for i >= k,  A_kj -= L_kq U_qj for j > k: what panel k waits for.
  void update_panel(const Panel& q, const Step& k) {
    const Stopwatch watch(clock_, outcome_.times.panel);
    if (k.in_column) update(q, k.row, k.column, a_.rows().local_size() - k.row.value, k.width());
    if (k.in_row)
      update(q, k.row, k.trailing_column, k.width(),
             a_.columns().local_size() - k.trailing_column.value);
  }

  // A_ij -= L_iq U_qj for i, j > k: the rest.
  void update_trailing(const Panel& q, const Step& k) {
    const Stopwatch watch(clock_, outcome_.times.update);
    update(q, k.trailing_row, k.trailing_column, a_.rows().local_size() - k.trailing_row.value,
           a_.columns().local_size() - k.trailing_column.value);
  }

  void update(const Panel& q, LocalIndex i, LocalIndex j, std::int64_t m, std::int64_t n) {
    const std::int64_t width = q.step.width();
    device_.update(*queue_, q.left.block(i - q.step.trailing_row, 0, m, width), q.left_header,
                   q.right.block(0, j - q.step.trailing_column, width, n), q.right_header,
                   a_.from(i, j).block(0, 0, m, n), poll_);
  }

  void note(const PanelHeader& header) {
    if (header.nonfinite) outcome_.nonfinite = true;
  }

  bool time_to_agree(std::int64_t k) const {
    const std::int64_t interval = std::max<std::int64_t>(plan_.count() / 32, 1);
    return k % interval == interval - 1 || k == plan_.count() - 1;
  }

  // What one rank met, all know: nobody waits for a panel that will not come.
  const FactorOutcome& agree() {
    constexpr auto none = std::numeric_limits<std::int64_t>::max();
    std::array<std::int64_t, 2> first{outcome_.bad_pivot < 0 ? none : outcome_.bad_pivot,
                                      outcome_.nonfinite ? 0 : 1};
    const Stopwatch watch(clock_, outcome_.times.broadcast);
    grid_.all().all_reduce(first, Reduction::min);
    outcome_.bad_pivot = first[0] == none ? -1 : first[0];
    outcome_.nonfinite = first[1] == 0;
    return outcome_;
  }

  const ProcessGrid& grid_;
  Device& device_;
  DistributedMatrix& a_;
  FactorOptions options_;
  const Clock& clock_;
  Plan plan_;
  std::unique_ptr<Queue> queue_;
  PanelRing ring_;
  std::vector<Flight> flights_;
  Poll poll_;
  FactorOutcome outcome_;
};

}  // namespace

FactorOutcome factorize(const ProcessGrid& grid, Device& device, DistributedMatrix& a,
                        const FactorOptions& options, const Clock& clock, const ColumnsDone& done) {
  return Factorization(grid, device, a, options, clock).run(done);
}

}  // namespace lupine
