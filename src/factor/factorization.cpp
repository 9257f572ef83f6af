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
  void send_left(const ProcessGrid& grid, BroadcastMethod method, const Panel& panel) {
    send(0, grid.row(), panel.step.owner_column, method, panel.step.index, panel.left_header,
         panel.left);
  }
  void send_right(const ProcessGrid& grid, BroadcastMethod method, const Panel& panel) {
    send(2, grid.column(), panel.step.owner_row, method, panel.step.index, panel.right_header,
         panel.right);
  }
  /// Moves all messages on; true once they have been received and passed on.
  bool test() {
    bool done = true;
    for (PanelBroadcast& m : messages_) done = m.test() && done;
    return done;
  }

 private:
  void send(std::size_t slot, const Communicator& comm, int root, BroadcastMethod method,
            std::int64_t k, PanelHeader* header, const LowMatrix& values) {
    messages_[slot] = PanelBroadcast(method, comm, root, Panel::bytes(header), 2 * k);
    messages_[slot + 1] = PanelBroadcast(method, comm, root, Panel::bytes(values), 2 * k + 1);
  }

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
      const std::int64_t oldest = std::max<std::int64_t>(k - depth, 0);
      receive(k - ring_.slots());  // its memory is the next panel's
      Panel& next = ring_.shape(step);

      // Before blocking for the diagonal: somebody may wait for what this rank has to pass on.
      for (auto q = oldest; q < k && (step.in_row || step.in_column); ++q) receive(q);
      for (auto q = oldest; q < k && step.in_column; ++q) update_column(ring_[q], step);
      factor_diagonal(step);                   // A_kk = L_kk U_kk
      if (step.in_column) solve_column(next);  // L_ik = A_ik U_kk^-1, rounded
      flight(k).send_left(grid_, options_.broadcast, next);
      for (auto q = oldest; q < k && step.in_row; ++q) update_row(ring_[q], step);
      if (step.in_row) solve_row(next);  // U_kj = L_kk^-1 A_kj, rounded
      flight(k).send_right(grid_, options_.broadcast, next);

      if (k >= depth) update_trailing(receive(k - depth), step);
      if (done) done(step.end.value);
      if (!time_to_agree(k)) continue;
      // And before blocking for the others' word.
      for (auto q = oldest; q < k; ++q) receive(q);
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

  // On its owner; then on all of its process row and column.
  void factor_diagonal(const Step& s) {
    if (!s.in_row && !s.in_column) return;
    const MatrixView<float> diagonal = ring_.diagonal(s.width());
    if (s.owns_diagonal()) {
      const Stopwatch watch(clock_, outcome_.times.panel);
      device_.factor_diagonal(*queue_, a_.diagonal(s), s.begin.value, &outcome_.bad_pivot);
      device_.copy(*queue_, a_.diagonal(s), diagonal);
      queue_->synchronize();
    }
    const Stopwatch watch(clock_, outcome_.times.broadcast);
    const std::span<float> block(diagonal.data, static_cast<std::size_t>(s.width() * s.width()));
    if (s.in_row) grid_.row().broadcast(block, s.owner_column);
    if (s.in_column) grid_.column().broadcast(block, s.owner_row);
  }

  void solve_column(const Panel& next) {
    const Stopwatch watch(clock_, outcome_.times.panel);
    const Step& s = next.step;
    const auto column = a_.from(s.trailing_row, s.column).block(0, 0, next.left.rows, s.width());
    device_.solve_right_upper(*queue_, ring_.diagonal(s.width()), column);
    device_.cast(*queue_, column, 1, next.left, next.left_header);
    queue_->synchronize();
    note(*next.left_header);
  }

  void solve_row(const Panel& next) {
    const Stopwatch watch(clock_, outcome_.times.panel);
    const Step& s = next.step;
    const auto row = a_.from(s.row, s.trailing_column).block(0, 0, s.width(), next.right.cols);
    device_.solve_left_lower(*queue_, ring_.diagonal(s.width()), row);
    device_.cast(*queue_, row, -1, next.right, next.right_header);
    queue_->synchronize();
    note(*next.right_header);
  }

  // A_ik -= L_iq U_qk for i >= k: what panel k's column waits for.
  void update_column(const Panel& q, const Step& k) {
    const Stopwatch watch(clock_, outcome_.times.panel);
    update(q, k.row, k.column, a_.rows().local_size() - k.row.value, k.width());
  }

  // A_kj -= L_kq U_qj for j > k: what its row waits for.
  void update_row(const Panel& q, const Step& k) {
    const Stopwatch watch(clock_, outcome_.times.panel);
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
