// SPDX-License-Identifier: BSD-3-Clause
#include "factor/lu.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "comm/agreement.hpp"
#include "core/expects.hpp"
#include "factor/pace.hpp"
#include "factor/pivot_moves.hpp"
#include "factor/region.hpp"
#include "factor/sweep.hpp"
#include "matrix/wide_part.hpp"

namespace speedwell {

namespace {

/// The factorization of one matrix. src/factor/README.md defines the terms: own column,
/// rest, chunk, apply, look-ahead.
class BlockLu {
 public:
  BlockLu(Transport& transport, DistributedMatrix& a, const LuPlan& options, const FactorRun& how)
      : transport_(transport),
        grid_(transport.grid()),
        run_(grid_.all().run()),
        device_(transport.device()),
        a_(a),
        options_(options),
        steps_(a.rows(), a.columns(), options.width),
        end_(how.steps < 0 ? steps_.count() : std::min(how.steps, steps_.count())),
        chunk_(options.chunk_of(a.columns().local_size())),
        beside_(options.lookahead > 0 && device_.overlaps()),
        panels_(device_.make_queue(Priority::high)),
        rows_(device_.make_queue(Priority::raised)),
        updates_(device_.make_queue(Priority::normal)),
        ring_(device_, a.rows(), a.columns(), options),
        wide_(device_.allocate(wide_bytes(options, chunk_))),
        diagonal_(transport, Traffic::panels, Along::column, 0,
                  PanelRing::diagonal_bytes(options.width, options)),
        status_(device_.allocate(sizeof(FactorStatus))),
        times_(outcome_.times, run_, *panels_),
        pace_(device_, *updates_, how) {
    newest_update_ = updates_->record();
    columns_.resize(static_cast<std::size_t>(a.columns().local_size() / chunk_ + 1));
    for (int slot = 0; slot < ring_.slots(); ++slot)
      lefts_.push_back({Carrier(transport, Traffic::panels, Along::row, ring_.sizes().control,
                                ring_.sizes().left)});
    for (int slot = 0; slot < ring_.chunks(); ++slot)
      add_right(Traffic::chunks, ring_.sizes().right, chunk_);
    add_right(Traffic::panels, ring_.sizes().own, options.width);
    if (pivoting()) {
      panel_.emplace(transport, a, options);
      moves_.emplace(device_, a.rows(), options.width, ring_.slots(), outcome_.pivots);
    }
    prepare_queues(device_, *panels_, *rows_, *updates_, a, options, chunk_);
    device_.upload(*panels_, std::vector<FactorStatus>(1), status());
    if (grid_.all().size() > 1 && transport.method() != CommMethod::nccl)
      messages_ = [this] { move_messages(); };
  }

  // Step k, with look-ahead d = 0 or 1: with d = 1, apply panel k-1 to the own column; factor and
  // send panel k; apply panel k-d to the rest. With d = 1 and queues that run side by side, the
  // rest is given to its queue before panel k.
  FactorOutcome run(const ColumnsDone& done) {
    const std::int64_t ahead = options_.lookahead;
    for (std::int64_t k = 0; k < end_; ++k) {
      const Step step = steps_[k];
      const EventPtr before = newest_update_;
      // Used apart from its chunks from now on, of which the last was updated last.
      if (step.in_column) own_ = columns({step.trailing_column - 1});
      if (ahead > 0 && k > 0) {
        // A_ik <- A_ik - L_iq U_qk for q = k-1
        apply_to_column(k - 1, step);
        start_rest(k - 1, step);
      }
      // P_k [A_kk; A_ik] = [L_kk; L_ik] U_kk
      factor_panel(step);
      // A_ij <- A_ij - L_iq U_qj for q = k-d and j > k
      if (k >= ahead) finish_rest(k - ahead, step);
      // The host stays at most one step ahead of the device.
      wait_for_device(*before, Activity::wait_for_updates, k);
      if (done && k > 0) done(step.begin.value);
      if (time_to_agree(k) && !agree(k).usable()) break;
    }
    finish();
    if (done && outcome_.usable() && end_ == steps_.count()) done(a_.rows().size());
    return std::move(outcome_);
  }

 private:
  // One slot of the ring: the memory of a panel or of a chunk of U, and its messages.
  struct Place {
    Carrier carrier;
    std::optional<RowExchange> exchange{};
    Region memory{};
  };
  bool pivoting() const { return options_.pivoting == Pivoting::partial; }
  FactorStatus* status() const { return status_.as<FactorStatus>(); }
  Track track_of(const Queue& queue) const {
    return &queue == panels_.get() ? Track::panels
           : &queue == rows_.get() ? Track::rows
                                   : Track::updates;
  }
  using Regions = std::initializer_list<Region*>;
  // Gives `queue` an operation, behind all on which it depends. Returns its end.
  template <class Work>
  EventPtr operate(Queue& queue, const TraceLabel& label, Regions uses, const Work& work) {
    for (const Region* region : uses) region->before(queue);
    EventPtr end = times_.time(queue, track_of(queue), label, work);
    for (Region* region : uses) region->used(queue, end);
    return end;
  }
  // An event of `queue` behind the latest uses: from this event on the regions may be overwritten.
  static EventPtr behind(Queue& queue, Regions uses) {
    for (const Region* region : uses) region->before(queue);
    return queue.record();
  }
  Place& left(std::int64_t k) { return lefts_[static_cast<std::size_t>(k % ring_.slots())]; }

  void add_right(Traffic traffic, std::int64_t bytes, std::int64_t columns) {
    const auto tag = static_cast<int>(rights_.size());
    rights_.push_back({Carrier(transport_, traffic, Along::column, ring_.sizes().control, bytes)});
    if (pivoting())
      rights_.back().exchange.emplace(transport_, traffic, options_.width, columns,
                                      options_.element(), tag);
  }

  void factor_panel(const Step& s) {
    Panel& next = ring_.shape(s);
    Place& place = left(s.index);
    const EventPtr ready = !s.in_column ? behind(pivoting() ? *panels_ : *updates_, {&place.memory})
                           : pivoting() ? factor_with_pivoting(next, {&own_, &place.memory})
                                        : factor_without(next, {&own_, &place.memory});
    place.carrier.start(s.owner_column, options_.broadcast, s.index, next.control_bytes(),
                        next.values(), ready);
  }

  // A_kk = L_kk U_kk on its owner, then L_ik = A_ik U_kk^-1.
  EventPtr factor_without(Panel& next, Regions panel) {
    const Step& s = next.step;
    const EventPtr begin = rest_ ? behind(*panels_, panel) : nullptr;
    const auto column = a_.from(s.trailing_row, s.column).block(0, 0, next.left.rows, s.width());
    const auto diagonal = next.diagonal.as<float>();
    const auto factor = [&] {
      const auto block = a_.diagonal(s).as<float>();
      device_.factor_diagonal(*panels_, block, s.begin.value, status());
      device_.copy(*panels_, block, diagonal);
    };
    const TraceLabel label{Activity::diagonal, Phase::panel, s.index, s.width(), s.width()};
    const std::span block(diagonal.data, static_cast<std::size_t>(s.width() * s.width()));
    diagonal_.start(
        s.owner_row, options_.broadcast, in_column_++, {}, std::as_writable_bytes(block),
        s.owns_diagonal() ? operate(*panels_, label, panel, factor) : behind(*panels_, panel));
    if (rest_) move_on(*rest_);  // here, so that the device begins with the diagonal block
    wait_for(diagonal_, Activity::share_diagonal, s.index);
    left(s.index).memory.received(diagonal_.arrived());
    const EventPtr shared = behind(*panels_, panel);
    for (Region* region : panel) region->used(*panels_, shared);
    if (rest_) pace_.end(begin, shared);
    return operate(*updates_,
                   {Activity::solve_panel, Phase::panel, s.index, column.rows, s.width()}, panel,
                   [&] {
                     if (column.rows > 0)
                       device_.prepare_solves(*updates_, Triangle::upper, diagonal,
                                              options_.precision, column.rows);
                     device_.solve_right_upper(*updates_, diagonal, column.as<float>(),
                                               options_.precision, next.left);
                     device_.cast(*updates_, column, 1, next.left, next.control, status());
                   });
  }

  // P_k [A_kk; A_ik] = [L_kk; L_ik] U_kk.
  EventPtr factor_with_pivoting(Panel& next, Regions panel) {
    const Step& s = next.step;
    const std::int64_t rows = a_.rows().local_size() - (s.in_row ? s.row : s.trailing_row).value;
    // Inside the panel the ranks of the process column wait for each other. So the host waits here
    // for earlier work of the device, and moves messages on meanwhile.
    const EventPtr begin = behind(*panels_, panel);
    if (grid_.column().size() > 1) wait_for_device(*begin, Activity::wait_for_updates, s.index);
    const TraceLabel label{Activity::pivoted_panel, Phase::panel, s.index, rows, s.width()};
    EventPtr end = operate(*panels_, label, panel, [&] {
      panel_->factor(*panels_, s, next.pivots, status(), outcome_.times.broadcast,
                     [this] { poll(); });
      if (s.owns_diagonal()) {
        device_.copy(*panels_, panel_->diagonal(), next.diagonal);
        device_.prepare_diagonal(*panels_, next.diagonal);
        device_.copy(*panels_, next.diagonal, a_.diagonal(s));
      }
      device_.cast(*panels_, panel_->below(), 1, next.left, next.control, status());
    });
    if (rest_) pace_.end(begin, end);
    return end;
  }

  // A_ik <- A_ik - L_iq U_qk for panel q = k-1. The rest needs this panel too: so the own column
  // goes first in the updates' queue, with the whole device.
  void apply_to_column(std::int64_t q, const Step& k) {
    if (!k.in_column) return;
    Sweep sweep = begin_sweep(q, {{k.column, k.width()}}, true);
    complete(sweep);
  }

  // Plans what of the rest is updated beside panel k, and applies panel q to that, as far as
  // messages have come. poll() and finish_rest() do what remains.
  void start_rest(std::int64_t q, const Step& k) {
    if (!beside_) return;
    rest_.emplace(begin_rest(q, k));
    if (k.in_column) {
      const std::int64_t rows = a_.rows().local_size() - rest_->panel.step.trailing_row.value;
      const std::int64_t columns = a_.columns().local_size() - k.trailing_column.value;
      rest_->now = pace_.plan(rows, columns, chunk_, times_);
    }
    if (pivoting() || !k.in_column) move_on(*rest_);
  }

  void finish_rest(std::int64_t q, const Step& k) {
    if (!rest_) rest_.emplace(begin_rest(q, k));
    rest_->now = Sweep::all;
    complete(*rest_);
    rest_.reset();
    if (beside_) device_.share(0);
  }

  Sweep begin_rest(std::int64_t q, const Step& k) {
    const Columns rest{k.trailing_column, a_.columns().local_size() - k.trailing_column.value};
    return begin_sweep(q, cut(rest, chunk_), false);
  }

  // For each chunk of some columns: exchange rows, U_qj = L_qq^-1 A_qj, A_ij <- A_ij - L_iq U_qj.
  // The rows of a chunk travel while the chunks before it are updated.
  Sweep begin_sweep(std::int64_t q, std::vector<Columns> chunks, bool own) {
    Place& place = left(q);
    wait_for(place.carrier, Activity::wait_for_panel, q);
    place.memory.received(place.carrier.arrived());
    const Panel& panel = ring_[q];
    std::int64_t& numbers = own ? in_column_ : in_rest_;
    Sweep sweep{panel, pivoting() ? &moves_of(panel) : nullptr, own, std::move(chunks), numbers};
    numbers += std::ssize(sweep.chunks);
    if (sweep.moves && !sweep.done()) start_exchange(sweep, 0);
    return sweep;
  }

  // Gives the queues all work whose messages have arrived.
  void move_on(Sweep& sweep) {
    for (;;)
      if (may_solve(sweep))
        solve_next(sweep);
      else if (may_update(sweep))
        update(sweep);
      else
        return;
  }

  // Updates all chunks of the sweep, and waits for their messages.
  void complete(Sweep& sweep) {
    for (move_on(sweep); !sweep.done(); move_on(sweep)) {
      const bool rows = sweep.solved == sweep.updated;
      const auto watch = stopwatch(rows ? Activity::wait_for_rows : Activity::wait_for_row,
                                   sweep.panel.step.index);
      const auto wait = run_.waiting("messages", awaited(sweep));
      while (!may_solve(sweep) && !may_update(sweep)) messages_();
    }
  }

  // The ranks whose messages the next chunk needs.
  std::span<const int> awaited(const Sweep& sweep) {
    return sweep.solved == sweep.updated ? grid_.column().watched()
                                         : place(sweep, sweep.updated).carrier.awaited();
  }

  // Whether U_qj of the next chunk can be computed: a slot is free, and its rows have arrived.
  bool may_solve(Sweep& sweep) {
    const std::size_t places = sweep.own ? 1 : static_cast<std::size_t>(ring_.chunks());
    if (sweep.solved == sweep.chunks.size() || sweep.solved - sweep.updated == places) return false;
    return !sweep.moves || place(sweep, sweep.solved).exchange->test();
  }
  // Whether the next chunk of U has arrived.
  bool may_update(Sweep& sweep) {
    return sweep.updated < sweep.solved && sweep.columns < sweep.now &&
           place(sweep, sweep.updated).carrier.test();
  }

  void solve_next(Sweep& sweep) {
    const std::size_t p = sweep.solved++;
    if (sweep.moves) finish_exchange(sweep, p);
    if (sweep.moves && p + 1 < sweep.chunks.size()) {
      start_exchange(sweep, p + 1);
      columns(sweep, p + 1).before(*updates_);  // beside updates its rows would take long
    }
    solve_row(sweep, p);
  }

  int slot(const Sweep& sweep, std::size_t p) const {
    return sweep.own ? ring_.own() : static_cast<int>(sweep.number(p) % ring_.chunks());
  }
  Place& place(const Sweep& sweep, std::size_t p) {
    return rights_[static_cast<std::size_t>(slot(sweep, p))];
  }
  // The chunk of columns in which local column j lies.
  Region& columns(LocalIndex j) { return columns_[static_cast<std::size_t>(j.value / chunk_)]; }
  Region& columns(const Sweep& sweep, std::size_t p) {
    return sweep.own ? own_ : columns(sweep.chunks[p].begin);
  }

  const DeviceRowMoves& moves_of(const Panel& q) {
    const std::int64_t k = q.step.index;
    return moves_->of(q, left(k).carrier, [this, k](const Event& event) {
      wait_for_device(event, Activity::wait_for_pivots, k);
    });
  }

  AnyMatrix whole(Columns columns) const {
    return a_.from({0}, columns.begin).block(0, 0, a_.rows().local_size(), columns.count);
  }

  void start_exchange(const Sweep& sweep, std::size_t p) {
    Queue& queue = sweep.own ? *panels_ : *rows_;
    operate(queue, sweep.exchange(Activity::exchange_rows, p), {&columns(sweep, p)},
            [&] { place(sweep, p).exchange->start(queue, *sweep.moves, whole(sweep.chunks[p])); });
  }

  void finish_exchange(const Sweep& sweep, std::size_t p) {
    Queue& queue = sweep.own ? *panels_ : *rows_;
    operate(queue, sweep.exchange(Activity::place_rows, p), {&columns(sweep, p)},
            [&] { place(sweep, p).exchange->finish(queue); });
  }

  // U_qj = L_qq^-1 A_qj on the process row of q; the chunk is round(-s U_qj), s its scale.
  void solve_row(const Sweep& sweep, std::size_t p) {
    const Columns chunk = sweep.chunks[p];
    const Step& s = sweep.panel.step;
    const RightChunk right = ring_.chunk(slot(sweep, p), s.width(), chunk.count);
    Place& to = place(sweep, p);
    const Regions uses{&left(s.index).memory, &columns(sweep, p), &to.memory};
    const TraceLabel label{Activity::solve_row, sweep.rows_phase(), s.index, s.width(),
                           chunk.count};
    const auto solve = [&] {
      const auto row = a_.from(s.row, chunk.begin).block(0, 0, s.width(), chunk.count);
      const WidePart wide(device_, *updates_, row, wide_);
      const bool small = !pivoting() || a_.storage() == Precision::fp64;  // the inverse of L_qq
      if (small && std::exchange(ready_, s.index) != s.index)
        device_.prepare_solves(*updates_, Triangle::unit_lower, sweep.panel.diagonal,
                               options_.precision, a_.columns().local_size() - chunk.begin.value);
      device_.solve_left_lower(*updates_, sweep.panel.diagonal, wide.values(), options_.precision,
                               right.values);
      wide.store();
      device_.cast(*updates_, wide.values().real(), -1, right.values, right.control, status());
    };
    to.carrier.start(s.owner_row, options_.broadcast, sweep.number(p), right.control_bytes(),
                     right.bytes(),
                     s.in_row ? operate(*updates_, label, uses, solve) : behind(*updates_, uses));
  }

  // A_ij <- A_ij - L_iq U_qj, as a sum: the rounded chunk is -U_qj.
  void update(Sweep& sweep) {
    const Panel& q = sweep.panel;
    const std::size_t p = sweep.updated;
    const Columns& chunk = sweep.chunks[p];
    const Columns part = sweep.next();
    Place& from = place(sweep, p);
    from.memory.received(from.carrier.arrived());
    const RightChunk right = ring_.chunk(slot(sweep, p), q.step.width(), chunk.count);
    const AnyMatrix c = a_.from(q.step.trailing_row, chunk.begin + part.begin.value);
    const Regions uses{&left(q.step.index).memory, &from.memory, &columns(sweep, p)};
    newest_update_ = operate(
        *updates_, {sweep.activity(), sweep.update_phase(), q.step.index, c.rows, part.count}, uses,
        [&] {
          device_.update(*updates_, q.left, q.control,
                         right.values.block(0, part.begin.value, right.values.rows, part.count),
                         right.control, c.block(0, 0, c.rows, part.count).real(), messages_);
        });
    sweep.columns += part.count;
    if (part.begin.value + part.count == chunk.count) ++sweep.updated;
  }

  // Measures a wait of the host for messages.
  RunContext::Span stopwatch(Activity activity, std::int64_t k) {
    return run_.stopwatch(outcome_.times.broadcast,
                          {.activity = activity, .phase = Phase::broadcast, .step = k});
  }

  void wait_for(Carrier& carrier, Activity activity, std::int64_t k) {
    const auto watch = stopwatch(activity, k);
    const auto wait = run_.waiting("messages", carrier.awaited());
    while (!carrier.test()) poll();
  }

  void wait_for_device(const Event& event, Activity activity, std::int64_t k) {
    const auto span = run_.span(Track::host, {.activity = activity, .step = k});
    if (!messages_) return event.wait();
    const auto wait = run_.waiting("the device");
    while (!event.reached()) poll();
  }

  // Called while this rank waits: other ranks may need the messages that it has to pass on, and its
  // device more work of the rest, since panel k may come later than was planned.
  void poll() {
    if (messages_) messages_();
    if (!rest_) return;
    if (rest_->columns == rest_->now && newest_update_->reached()) rest_->now += chunk_;
    move_on(*rest_);
  }

  void move_messages() {
    run_.ended();  // asks, while this rank waits
    diagonal_.test();
    for (Place& place : lefts_) place.carrier.test();
    for (Place& place : rights_) {
      place.carrier.test();
      if (place.exchange) place.exchange->test();
    }
  }

  void finish() {
    device_.share(0);
    for (Place& place : lefts_) wait_for(place.carrier, Activity::wait_for_panel, end_ - 1);
    for (Queue* queue : {panels_.get(), rows_.get(), updates_.get()}) queue->synchronize();
    transport_.synchronize();
    if (outcome_.usable()) agree(end_ - 1);
    if (pivoting() && outcome_.usable())  // reads the pivots of the last panels into outcome_
      for (auto k = std::max<std::int64_t>(end_ - ring_.slots(), 0); k < end_; ++k)
        moves_of(ring_[k]);
    times_.finish();
  }

  bool time_to_agree(std::int64_t k) const {
    return (k + 1) % std::max<std::int64_t>(steps_.count() / 32, 1) == 0;
  }

  // All ranks learn of a bad pivot, non-finite number or interrupt on any rank, and stop together.
  const FactorOutcome& agree(std::int64_t k) {
    FactorStatus status_here;
    device_.download(*panels_, status(), std::span(&status_here, 1));
    const auto watch = stopwatch(Activity::agree, k);
    outcome_.verdict() = worst_status(grid_.all(), status_here);
    return outcome_;
  }

  Transport& transport_;
  const ProcessGrid& grid_;
  const RunContext& run_;
  Device& device_;
  DistributedMatrix& a_;
  LuPlan options_;
  StepSequence steps_;
  std::int64_t end_;
  std::int64_t chunk_;
  bool beside_;  // whether the rest is updated while panels are factored
  std::unique_ptr<Queue> panels_;
  std::unique_ptr<Queue> rows_;
  std::unique_ptr<Queue> updates_;
  PanelRing ring_;
  Buffer wide_;  // rows of a chunk of an A of 16 bits: see WidePart
  Carrier diagonal_;
  Buffer status_;
  std::optional<PivotedPanel> panel_;
  std::optional<PivotMoves> moves_;
  std::vector<Place> lefts_;     // one for each panel of the ring
  std::vector<Place> rights_;    // one for each slot of right chunks in the ring
  std::int64_t in_rest_ = 0;     // running number of the next chunk of the rest
  std::int64_t in_column_ = 0;   // of the next chunk of an own column, or diagonal block
  std::optional<Sweep> rest_;    // the rest of the present step, while it is in progress
  std::vector<Region> columns_;  // each chunk of columns of A
  Region own_;                   // the own column of the present step
  EventPtr newest_update_;
  std::int64_t ready_ = -1;  // the last step whose L_kk is ready for solves
  Poll messages_;            // moves messages on; null where no message needs the host
  FactorOutcome outcome_;
  QueueTimes times_;
  Pace pace_;
};

}  // namespace

FactorOutcome factorize(Transport& transport, DistributedMatrix& a, const LuPlan& plan,
                        const ColumnsDone& done, const FactorRun& how) {
  SPEEDWELL_EXPECTS(plan.n == a.rows().size() && plan.nb == a.rows().block());
  SPEEDWELL_EXPECTS(plan.grid == transport.grid().shape());
  SPEEDWELL_EXPECTS(a.storage() == plan.storage() && a.field() == plan.field);
  SPEEDWELL_EXPECTS(a.field() == Field::real ||
                    (plan.pivoting == Pivoting::partial && !plan.narrow));
  SPEEDWELL_EXPECTS(a.storage() == Precision::fp32 || plan.pivoting == Pivoting::partial);
  std::optional<BlockLu> lu;  // which allocates
  agree(transport.grid().all(), [&] { lu.emplace(transport, a, plan, how); });
  FactorOutcome outcome = lu->run(done);
  stop_if_interrupted(transport.grid().all());
  return outcome;
}

}  // namespace speedwell
