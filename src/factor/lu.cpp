// SPDX-License-Identifier: BSD-3-Clause
#include "factor/lu.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "comm/agreement.hpp"
#include "core/expects.hpp"
#include "factor/pace.hpp"
#include "factor/pivot_moves.hpp"
#include "factor/sweep.hpp"

namespace lupine {

namespace {

/// The factorization of one matrix. src/ARCHITECTURE.md, "The loop", defines the terms: own column,
/// rest, chunk, apply, look-ahead.
class BlockLu {
 public:
  BlockLu(Transport& transport, DistributedMatrix& a, const LuPlan& options, const Clock& clock,
          const FactorRun& how)
      : transport_(transport),
        grid_(transport.grid()),
        device_(transport.device()),
        a_(a),
        options_(options),
        plan_(a.rows(), a.columns(), options.width),
        steps_(how.steps < 0 ? plan_.count() : std::min(how.steps, plan_.count())),
        chunk_(options.chunk_of(a.columns().local_size())),
        beside_(options.lookahead > 0 && device_.overlaps()),
        inline_solves_(options.lookahead <= 1 && device_.overlaps()),
        panels_(device_.make_queue(Priority::high)),
        rows_(device_.make_queue(Priority::raised)),
        updates_(device_.make_queue(Priority::normal)),
        ring_(device_, a.rows(), a.columns(), options),
        diagonal_(transport, Traffic::panels, Along::column, 0,
                  PanelRing::diagonal_bytes(options.width, options.precision)),
        status_(device_.allocate(sizeof(FactorStatus))),
        times_(outcome_.times, how.trace, *panels_),
        pace_(device_, *panels_, *updates_, how.panel_part),
        waits_{clock, outcome_.times.broadcast, how.trace, Phase::broadcast, grid_.all().stalls()} {
    newest_update_ = last_ = updates_->record();
    updated_.assign(static_cast<std::size_t>(a.columns().local_size() / chunk_ + 1), last_);
    for (int slot = 0; slot < ring_.slots(); ++slot)
      lefts_.emplace_back(transport, Traffic::panels, Along::row, ring_.sizes().control,
                          ring_.sizes().left);
    for (int slot = 0; slot < ring_.chunks(); ++slot)
      add_place(Traffic::chunks, ring_.sizes().right, chunk_);
    add_place(Traffic::panels, ring_.sizes().own, options.width);
    if (pivoting()) {
      panel_.emplace(transport, a, options);
      moves_.emplace(device_, a.rows(), options.width, ring_.slots(), outcome_.pivots);
    }
    prepare_queues(device_, {panels_.get(), rows_.get(), updates_.get()}, *updates_,
                   solves(*panels_), solves(*rows_), a, options, chunk_);
    device_.upload(*panels_, std::vector<FactorStatus>(1), status());
    if (grid_.all().size() > 1 && transport.method() != CommMethod::nccl)
      messages_ = [this] { move_messages(); };
  }

  // Step k: apply the panels k-d ... k-1 to the own column, factor and send panel k, and apply
  // panel k-d to the rest. Where queues run side by side, the rest is given to its queue before
  // panel k is factored; with d > 1 even before the own column is updated. (With d = 1 both need
  // panel k-1.)
  FactorOutcome run(const ColumnsDone& done) {
    const std::int64_t depth = options_.lookahead;
    for (std::int64_t k = 0; k < steps_; ++k) {
      const Step step = plan_[k];
      const EventPtr before = last_;
      receive(k - ring_.slots());  // panel k takes the memory of that panel
      panels_wait_for_column(step);
      if (depth > 1) start_rest(k - depth, step);
      // A_ik <- A_ik - L_iq U_qk for q = k-d, ..., k-1
      apply_to_column(std::max<std::int64_t>(k - depth, 0), step);
      if (depth == 1) start_rest(k - depth, step);
      panels_->wait(*before);
      if (depth == 1) pace_.begin();
      // P_k [A_kk; A_ik] = [L_kk; L_ik] U_kk
      factor_panel(step);
      // A_ij <- A_ij - L_iq U_qj for q = k-d and j > k
      finish_rest(k - depth, step);
      // The host stays at most one step ahead of the device.
      wait_for_device(*before, Activity::wait_for_updates, k);
      if (done && k > 0) done(step.begin.value);
      if (!time_to_agree(k)) continue;
      // Completed before this rank blocks in the reduction: other ranks may need these panels.
      for (auto q = std::max<std::int64_t>(k - depth, 0); q < k; ++q) receive(q);
      if (!agree(k).usable()) break;
    }
    finish();
    if (done && outcome_.usable() && steps_ == plan_.count()) done(a_.rows().size());
    return std::move(outcome_);
  }

 private:
  // The messages and events of one slot for a chunk of U.
  struct Place {
    Carrier carrier;
    std::optional<RowExchange> exchange;
    EventPtr solved;  // on the process row of the panel: the chunk is computed
    EventPtr used;    // the update has read the chunk, and its memory is free again
  };
  bool pivoting() const { return options_.pivoting == Pivoting::partial; }
  FactorStatus* status() const { return status_.as<FactorStatus>(); }
  Track track_of(const Queue& queue) const {
    return &queue == panels_.get() ? Track::panels
           : &queue == rows_.get() ? Track::rows
                                   : Track::updates;
  }
  template <class Work>
  void time(Queue& queue, const TraceLabel& label, const Work& work) {
    times_.time(queue, track_of(queue), label, work);
  }
  // Whether the diagonal block is given to its queue before the rest, so that the device begins
  // with it. It takes the host little time, as opposed to a whole panel.
  bool diagonal_first(const Step& s) const { return inline_solves_ && !pivoting() && s.in_column; }
  // The queue for solves and for the update of the own column.
  Queue& solves(Queue& beside) { return inline_solves_ ? *updates_ : beside; }
  Carrier& left(std::int64_t k) { return lefts_[static_cast<std::size_t>(k % ring_.slots())]; }

  void add_place(Traffic traffic, std::int64_t bytes, std::int64_t columns) {
    const auto tag = static_cast<int>(places_.size());
    places_.push_back({Carrier(transport_, traffic, Along::column, ring_.sizes().control, bytes),
                       std::nullopt, last_, last_});
    if (pivoting())
      places_.back().exchange.emplace(transport_, traffic, options_.width, columns,
                                      bytes_of(a_.storage()), tag);
  }

  void factor_panel(const Step& s) {
    Panel& next = ring_.shape(s);
    if (s.in_column) pivoting() ? factor_with_pivoting(next) : factor_without(next);
    left(s.index).start(s.owner_column, options_.broadcast, s.index, next.control_bytes(),
                        next.values(), (pivoting() ? *panels_ : solves(*panels_)).record());
  }

  // A_kk = L_kk U_kk on its owner, then L_ik = A_ik U_kk^-1.
  void factor_without(Panel& next) {
    const Step& s = next.step;
    const auto column = a_.from(s.trailing_row, s.column).block(0, 0, next.left.rows, s.width());
    const auto diagonal = next.diagonal.as<float>();
    if (s.owns_diagonal())
      time(*panels_, {Activity::diagonal, Phase::panel, s.index, s.width(), s.width()}, [&] {
        const auto block = a_.diagonal(s).as<float>();
        device_.factor_diagonal(*panels_, block, s.begin.value, status());
        device_.copy(*panels_, block, diagonal);
      });
    const std::span block(diagonal.data, static_cast<std::size_t>(s.width() * s.width()));
    diagonal_.start(s.owner_row, options_.broadcast, in_column_++, {},
                    std::as_writable_bytes(block), panels_->record());
    if (rest_ && diagonal_first(s)) move_on(*rest_);
    wait_for(diagonal_, Activity::share_diagonal, s.index);
    diagonal_.arrive_in(*panels_);
    Queue& queue = solves(*panels_);
    if (inline_solves_) {
      if (rest_) pace_.end();
      queue.wait(*panels_->record());
    }
    time(queue, {Activity::solve_panel, Phase::panel, s.index, column.rows, s.width()}, [&] {
      device_.solve_right_upper(queue, diagonal, column.as<float>(), options_.precision);
      device_.cast(queue, column, 1, next.left, next.control, status());
    });
    if (rest_ && !inline_solves_) pace_.end();
  }

  // P_k [A_kk; A_ik] = [L_kk; L_ik] U_kk.
  void factor_with_pivoting(Panel& next) {
    const Step& s = next.step;
    const std::int64_t rows = next.left.rows + (s.in_row ? s.width() : 0);
    // Inside the panel the ranks of the process column wait for each other. So the host waits here
    // for earlier work of the device, and moves messages on meanwhile.
    if (grid_.column().size() > 1)
      wait_for_device(*panels_->record(), Activity::wait_for_updates, s.index);
    time(*panels_, {Activity::pivoted_panel, Phase::panel, s.index, rows, s.width()}, [&] {
      panel_->factor(*panels_, s, next.pivots, status(), waits_, [this] { poll(); });
      if (s.owns_diagonal()) {
        device_.copy(*panels_, panel_->diagonal(), next.diagonal);
        device_.prepare_diagonal(*panels_, next.diagonal);
        device_.copy(*panels_, next.diagonal, a_.diagonal(s));
      }
      device_.cast(*panels_, panel_->below(), 1, next.left, next.control, status());
    });
    if (rest_) pace_.end();
  }

  // A_ik <- A_ik - L_iq U_qk for the panels q = oldest, ..., k-1. With look-ahead 1 the rest needs
  // the same panel: so the own column goes first in the updates' queue, with the whole device. With
  // a deeper look-ahead it must not delay the rest, and runs in the panels' queue.
  void apply_to_column(std::int64_t oldest, const Step& k) {
    if (!k.in_column) return;
    Queue& updates = solves(*panels_);
    const Way way{
        *panels_, updates, updates, true, Phase::panel, Phase::panel, Activity::apply_to_panel};
    for (auto q = oldest; q < k.index; ++q) {
      Sweep sweep = begin_sweep(q, {{k.column, k.width()}}, way);
      complete(sweep);
      panels_->wait(*place(sweep, 0).used);
    }
  }

  // Plans what of the rest is updated beside panel k, and applies panel q to that, as far as
  // messages have come. poll() and finish_rest() do what remains. A deep look-ahead holds nothing
  // back.
  void start_rest(std::int64_t q, const Step& k) {
    if (q < 0 || !beside_) return;
    pace_.begin();
    rest_.emplace(begin_rest(q, k));
    if (k.in_column) {
      const std::int64_t rows = a_.rows().local_size() - rest_->panel.step.trailing_row.value;
      const std::int64_t columns = a_.columns().local_size() - k.trailing_column.value;
      const std::int64_t beside = pace_.plan(rows, columns, chunk_, times_);
      if (inline_solves_) rest_->now = beside;
    }
    if (!diagonal_first(k)) move_on(*rest_);
  }

  void finish_rest(std::int64_t q, const Step& k) {
    if (q < 0) return;
    if (!rest_) rest_.emplace(begin_rest(q, k));
    rest_->now = Sweep::all;
    complete(*rest_);
    rest_.reset();
    last_ = updates_->record();
    if (beside_) device_.share(0);
  }

  Sweep begin_rest(std::int64_t q, const Step& k) {
    const Columns rest{k.trailing_column, a_.columns().local_size() - k.trailing_column.value};
    return begin_sweep(
        q, cut(rest, chunk_),
        {*rows_, solves(*rows_), *updates_, false, Phase::rows, Phase::update, Activity::update});
  }

  // For each chunk of some columns: exchange rows, U_qj = L_qq^-1 A_qj, A_ij <- A_ij - L_iq U_qj.
  // The rows of a chunk travel while the chunks before it are updated.
  Sweep begin_sweep(std::int64_t q, std::vector<Columns> chunks, const Way& way) {
    const Carrier& arrived = receive(q);
    const Panel& panel = ring_[q];
    for (Queue* queue : {&way.rows, &way.solves, &way.updates}) arrived.arrive_in(*queue);
    std::int64_t& numbers = way.own ? in_column_ : in_rest_;
    Sweep sweep{panel, pivoting() ? &moves_of(panel) : nullptr, way, std::move(chunks), numbers};
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
      const Stopwatch watch = waits_.watch(rows ? Activity::wait_for_rows : Activity::wait_for_row,
                                           sweep.panel.step.index);
      const StallWatch::Waiting waiting(waits_.stalls, "messages", awaited(sweep));
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
    const std::size_t places = sweep.way.own ? 1 : static_cast<std::size_t>(ring_.chunks());
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
    if (sweep.moves && p + 1 < sweep.chunks.size()) start_exchange(sweep, p + 1);
    solve_row(sweep, p);
  }

  int slot(const Sweep& sweep, std::size_t p) const {
    return sweep.way.own ? ring_.own() : static_cast<int>(sweep.number(p) % ring_.chunks());
  }
  Place& place(const Sweep& sweep, std::size_t p) {
    return places_[static_cast<std::size_t>(slot(sweep, p))];
  }

  void wait_for_updates(Queue& queue, Columns columns) const {
    if (columns.count == 0) return;
    const std::int64_t last = (columns.begin.value + columns.count - 1) / chunk_;
    for (auto i = columns.begin.value / chunk_; i <= last; ++i)
      queue.wait(*updated_[static_cast<std::size_t>(i)]);
  }

  // Called before the rest of this step is given to the queues, because its updates replace the
  // events in updated_ of the step before.
  void panels_wait_for_column(const Step& s) const {
    if (s.in_column) wait_for_updates(*panels_, {s.column, s.width()});
  }

  const DeviceRowMoves& moves_of(const Panel& q) {
    const std::int64_t k = q.step.index;
    return moves_->of(q, left(k), [this, k](const Event& event) {
      wait_for_device(event, Activity::wait_for_pivots, k);
    });
  }

  AnyMatrix whole(Columns columns) const {
    return a_.from({0}, columns.begin).block(0, 0, a_.rows().local_size(), columns.count);
  }

  void start_exchange(const Sweep& sweep, std::size_t p) {
    const Way& way = sweep.way;
    if (!way.own) wait_for_updates(way.rows, sweep.chunks[p]);
    time(way.rows, sweep.exchange(Activity::exchange_rows, p),
         [&] { place(sweep, p).exchange->start(way.rows, *sweep.moves, whole(sweep.chunks[p])); });
  }

  void finish_exchange(const Sweep& sweep, std::size_t p) {
    time(sweep.way.rows, sweep.exchange(Activity::place_rows, p),
         [&] { place(sweep, p).exchange->finish(sweep.way.rows); });
  }

  // U_qj = L_qq^-1 A_qj on the process row of q; the chunk is round(-s U_qj), s its scale.
  void solve_row(const Sweep& sweep, std::size_t p) {
    const Way& way = sweep.way;
    const Columns columns = sweep.chunks[p];
    const Step& s = sweep.panel.step;
    const RightChunk chunk = ring_.chunk(slot(sweep, p), s.width(), columns.count);
    Place& to = place(sweep, p);
    Queue& queue = way.solves;
    if (!way.own) wait_for_updates(queue, columns);
    if (sweep.moves) queue.wait(*way.rows.record());
    queue.wait(*to.used);
    const TraceLabel label{Activity::solve_row, way.rows_phase, s.index, s.width(), columns.count};
    if (s.in_row)
      time(queue, label, [&] {
        const auto row = a_.from(s.row, columns.begin).block(0, 0, s.width(), columns.count);
        device_.solve_left_lower(queue, sweep.panel.diagonal, row, options_.precision);
        device_.cast(queue, row, -1, chunk.values, chunk.control, status());
      });
    to.solved = queue.record();
    to.carrier.start(s.owner_row, options_.broadcast, sweep.number(p), chunk.control_bytes(),
                     chunk.bytes(), to.solved);
  }

  // A_ij <- A_ij - L_iq U_qj, as a sum: the rounded chunk is -U_qj.
  void update(Sweep& sweep) {
    const Way& way = sweep.way;
    const Panel& q = sweep.panel;
    const Columns& columns = sweep.chunks[sweep.updated];
    const Columns part = sweep.next();
    Place& from = place(sweep, sweep.updated);
    from.carrier.arrive_in(way.updates);
    way.updates.wait(*from.solved);
    const RightChunk chunk = ring_.chunk(slot(sweep, sweep.updated), q.step.width(), columns.count);
    const auto c = a_.from(q.step.trailing_row, columns.begin + part.begin.value);
    const TraceLabel label{way.update, way.update_phase, q.step.index, c.rows, part.count};
    time(way.updates, label, [&] {
      device_.update(way.updates, q.left, q.control,
                     chunk.values.block(0, part.begin.value, q.step.width(), part.count),
                     chunk.control, c.block(0, 0, c.rows, part.count), messages_);
    });
    sweep.columns += part.count;
    newest_update_ = way.updates.record();
    if (part.begin.value + part.count < columns.count) return;
    ++sweep.updated;
    from.used = newest_update_;
    if (!way.own) updated_[static_cast<std::size_t>(columns.begin.value / chunk_)] = from.used;
  }

  // Waits, if k >= 0, until panel k has arrived and is passed on. Returns the carrier of panel k.
  const Carrier& receive(std::int64_t k) {
    Carrier& carrier = left(std::max<std::int64_t>(k, 0));
    if (k >= 0) wait_for(carrier, Activity::wait_for_panel, k);
    return carrier;
  }

  void wait_for(Carrier& carrier, Activity activity, std::int64_t k) {
    const Stopwatch watch = waits_.watch(activity, k);
    const StallWatch::Waiting waiting(waits_.stalls, "messages", carrier.awaited());
    while (!carrier.test()) poll();
  }

  void wait_for_device(const Event& event, Activity activity, std::int64_t k) {
    const TraceScope scope(waits_.trace, Track::host, {.activity = activity, .step = k});
    const StallWatch::Doing doing(waits_.stalls, activity, k);
    if (!messages_) return event.wait();
    const StallWatch::Waiting waiting(waits_.stalls, "the device");
    while (!event.reached()) poll();
  }

  // Called while this rank waits: other ranks may need the messages that it has to pass on, and its
  // device more work of the rest, since panel k may come later than was planned.
  void poll() {
    if (messages_) messages_();
    if (!rest_ || !beside_) return;
    if (rest_->columns == rest_->now && newest_update_->reached()) rest_->now += chunk_;
    move_on(*rest_);
  }

  void move_messages() {
    ended(device_.interrupt());  // asks, while this rank waits
    diagonal_.test();
    for (Carrier& carrier : lefts_) carrier.test();
    for (Place& place : places_) {
      place.carrier.test();
      if (place.exchange) place.exchange->test();
    }
  }

  void finish() {
    device_.share(0);
    for (Carrier& carrier : lefts_) wait_for(carrier, Activity::wait_for_panel, steps_ - 1);
    for (Queue* queue : {panels_.get(), rows_.get(), updates_.get()}) queue->synchronize();
    transport_.synchronize();
    if (outcome_.usable()) agree(steps_ - 1);
    if (pivoting() && outcome_.usable())  // reads the pivots of the last panels into outcome_
      for (auto k = std::max<std::int64_t>(steps_ - ring_.slots(), 0); k < steps_; ++k)
        moves_of(ring_[k]);
    times_.finish();
  }

  bool time_to_agree(std::int64_t k) const {
    return (k + 1) % std::max<std::int64_t>(plan_.count() / 32, 1) == 0;
  }

  // All ranks learn of a bad pivot, non-finite number or interrupt on any rank, and stop together.
  const FactorOutcome& agree(std::int64_t k) {
    FactorStatus status_here;
    device_.download(*panels_, status(), std::span(&status_here, 1));
    const Stopwatch watch = waits_.watch(Activity::agree, k);
    outcome_.verdict() = worst_status(grid_.all(), status_here, device_.interrupt());
    return outcome_;
  }

  Transport& transport_;
  const ProcessGrid& grid_;
  Device& device_;
  DistributedMatrix& a_;
  LuPlan options_;
  Plan plan_;
  std::int64_t steps_;
  std::int64_t chunk_;
  bool beside_;         // whether the rest is updated while panels are factored
  bool inline_solves_;  // whether solves are given to the updates' queue
  std::unique_ptr<Queue> panels_;
  std::unique_ptr<Queue> rows_;
  std::unique_ptr<Queue> updates_;
  PanelRing ring_;
  Carrier diagonal_;
  Buffer status_;
  std::optional<PivotedPanel> panel_;
  std::optional<PivotMoves> moves_;
  std::vector<Carrier> lefts_;
  std::vector<Place> places_;      // one for each slot of right chunks in the ring
  std::int64_t in_rest_ = 0;       // running number of the next chunk of the rest
  std::int64_t in_column_ = 0;     // of the next chunk of an own column, or diagonal block
  std::optional<Sweep> rest_;      // the rest of the present step, while it is in progress
  std::vector<EventPtr> updated_;  // for each chunk of columns: its last update is done
  EventPtr newest_update_;
  EventPtr last_;  // the rest of the last step is updated
  Poll messages_;  // moves messages on; null where no message needs the host
  FactorOutcome outcome_;
  QueueTimes times_;
  Pace pace_;
  HostTimer waits_;  // measures waits for messages
};

}  // namespace

FactorOutcome factorize(Transport& transport, DistributedMatrix& a, const LuPlan& plan,
                        const Clock& clock, const ColumnsDone& done, const FactorRun& how) {
  LUPINE_EXPECTS(plan.n == a.rows().size() && plan.nb == a.rows().block());
  LUPINE_EXPECTS(plan.grid == transport.grid().shape());
  LUPINE_EXPECTS(a.storage() != Precision::fp64 || plan.pivoting == Pivoting::partial);
  std::optional<BlockLu> lu;  // which allocates
  agree(transport.grid().all(), [&] { lu.emplace(transport, a, plan, clock, how); });
  FactorOutcome outcome = lu->run(done);
  stop_if_interrupted(transport.grid().all(), transport.device().interrupt());
  return outcome;
}

}  // namespace lupine
