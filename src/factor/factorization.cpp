#include "factor/factorization.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <vector>

#include "matrix/panel_ring.hpp"
#include "transport/row_exchange.hpp"

namespace lupine {

namespace {

class Factorization {
 public:
  Factorization(Transport& transport, DistributedMatrix& a, const FactorOptions& options,
                const Clock& clock)
      : transport_(transport),
        grid_(transport.grid()),
        device_(transport.device()),
        a_(a),
        options_(options),
        plan_(a.rows(), a.columns(), options.width),
        steps_(options.steps < 0 ? plan_.count() : std::min(options.steps, plan_.count())),
        piece_(piece_columns(a, options)),
        panels_(device_.make_queue(Priority::high)),
        rows_(device_.make_queue(Priority::high)),
        updates_(device_.make_queue(Priority::normal)),
        control_(device_.make_queue(Priority::high)),
        ring_(device_, a.rows(),
              {options.precision, options.width, options.lookahead + 1, piece_, pivoting()}),
        status_(device_.allocate(sizeof(FactorStatus))),
        times_(outcome_.times, options.trace, *panels_),
        waits_{clock, outcome_.times.broadcast, options.trace, Phase::broadcast,
               grid_.all().stalls()} {
    for (int slot = 0; slot < ring_.slots(); ++slot)
      lefts_.emplace_back(transport, Along::row, ring_.largest_control(), ring_.largest_left());
    for (int slot = 0; slot < PanelRing::pieces; ++slot)
      rights_.emplace_back(transport, Along::column, ring_.largest_control(),
                           ring_.largest_right());
    if (pivoting()) prepare_pivoting();
    const FactorStatus nothing;
    device_.upload(*panels_, std::span(&nothing, 1), status());
    last_ = updates_->record();
    used_.fill(last_);
    updated_.assign(static_cast<std::size_t>(a.columns().local_size() / piece_ + 1), last_);
    if (grid_.all().size() > 1)
      poll_ = [this] {
        for (Carrier& carrier : lefts_) carrier.test();
        for (Carrier& carrier : rights_) carrier.test();
        for (RowExchange& exchange : exchanges_) exchange.test();
      };
  }

  // Panel k is factored as soon as the panels before it are applied to its own column, and travels
  // while panel k - lookahead is applied to the rest. Where queues run side by side, that is given
  // first.
  FactorOutcome run(const ColumnsDone& done) {
    const std::int64_t depth = options_.lookahead;
    const bool rest_first = depth > 0 && device_.overlaps();
    for (std::int64_t k = 0; k < steps_; ++k) {
      const Step step = plan_[k];
      const EventPtr before = last_;
      receive(k - ring_.slots());  // its memory is the next panel's
      if (rest_first) {
        device_.share(k >= depth ? panel_part(step) : 0);
        apply_to_rest(k - depth, step);
      }
      panels_->wait(*before);
      factor_panel(std::max<std::int64_t>(k - depth, 0), step);
      if (!rest_first) apply_to_rest(k - depth, step);
      wait_for_device(*before, k);  // what is given runs no more than a step behind
      if (done && k > 0) done(step.begin.value);
      if (time_to_agree(k) && !agree(std::max<std::int64_t>(k - depth, 0), k).usable()) break;
    }
    finish();
    if (done && outcome_.usable() && steps_ == plan_.count()) done(a_.rows().size());
    return std::move(outcome_);
  }

 private:
  // Where a panel is applied: to its own column at once, to the rest beside the next panel.
  struct Way {
    Queue& rows;
    Queue& updates;
    Phase rows_phase;
    Phase update_phase;
    Activity update;
  };
  struct Columns {
    LocalIndex begin;
    std::int64_t count;
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
  Carrier& left(std::int64_t k) { return lefts_[static_cast<std::size_t>(k % ring_.slots())]; }

  static std::int64_t piece_columns(const DistributedMatrix& a, const FactorOptions& options) {
    const std::int64_t whole = std::max<std::int64_t>(a.columns().local_size(), 1);
    return options.piece > 0 ? std::min(options.piece, whole) : whole;
  }

  void prepare_pivoting() {
    const std::int64_t width = options_.width;
    panel_.emplace(transport_, a_, width, options_.recursion);
    outcome_.pivots.resize(static_cast<std::size_t>(a_.rows().size()));
    for (int i = 0; i < PanelRing::pieces; ++i)
      exchanges_.emplace_back(transport_, width, piece_, bytes_of(a_.storage()), i);
    // One more than panels: moves are made anew while those before them may still be read.
    for (int i = 0; i <= ring_.slots(); ++i) moves_.emplace_back(device_, 2 * width);
    planned_.assign(moves_.size(), -1);
  }

  void factor_panel(std::int64_t oldest, const Step& s) {
    if (s.in_column) {
      const Columns own{s.column, s.width()};
      wait_for_updates(*panels_, own);
      const Way way{*panels_, *panels_, Phase::panel, Phase::panel, Activity::apply_to_panel};
      for (auto q = oldest; q < s.index; ++q) apply(ring_[q], own, way);
    }
    Panel& next = ring_.shape(s);
    if (s.in_column) pivoting() ? factor_with_pivoting(next) : factor_without(next);
    left(s.index).start(s.owner_column, options_.broadcast, s.index, next.control(), next.values(),
                        panels_->record());
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
    {
      const Stopwatch watch = waits_.watch(Activity::share_diagonal, s.index);
      const std::span block(diagonal.data, static_cast<std::size_t>(s.width() * s.width()));
      transport_.broadcast(*panels_, Along::column, s.owner_row, std::as_writable_bytes(block));
    }
    time(*panels_, {Activity::solve_panel, Phase::panel, s.index, column.rows, s.width()}, [&] {
      device_.solve_right_upper(*panels_, diagonal, column.as<float>(), options_.precision);
      device_.cast(*panels_, column, 1, next.left, next.header, status());
    });
  }

  // P_k [A_kk; A_ik] = [L_kk; L_ik] U_kk
  void factor_with_pivoting(Panel& next) {
    const Step& s = next.step;
    const std::int64_t rows = next.left.rows + (s.in_row ? s.width() : 0);
    time(*panels_, {Activity::pivoted_panel, Phase::panel, s.index, rows, s.width()}, [&] {
      panel_->factor(*panels_, s, next.pivots, status(), waits_);
      if (s.owns_diagonal()) {
        device_.copy(*panels_, panel_->diagonal(), next.diagonal);
        device_.prepare_diagonal(*panels_, next.diagonal);
        device_.copy(*panels_, next.diagonal, a_.diagonal(s));
      }
      device_.cast(*panels_, panel_->below(), 1, next.left, next.header, status());
    });
  }

  // Panel q to the columns behind those of step k.
  void apply_to_rest(std::int64_t q, const Step& k) {
    if (q < 0) return;
    const Columns rest{k.trailing_column, a_.columns().local_size() - k.trailing_column.value};
    apply(ring_[q], rest, {*rows_, *updates_, Phase::rows, Phase::update, Activity::update});
    last_ = updates_->record();
  }

  // Exchange of rows, U_qj = L_qq^-1 A_qj, A_ij <- A_ij - L_iq U_qj, for some columns j: the rows
  // of one piece are on their way while the piece before is updated.
  void apply(const Panel& q, Columns all, const Way& way) {
    const Carrier& arrived = receive(q.step.index);
    const DeviceRowMoves* moves = pivoting() ? &moves_of(q) : nullptr;
    arrived.arrive_in(way.rows);
    arrived.arrive_in(way.updates);
    const std::vector<Columns> pieces = cut(all);
    const std::int64_t first = number_;
    number_ += std::ssize(pieces);
    if (moves && !pieces.empty()) start_exchange(q, *moves, pieces[0], first, way);
    for (std::size_t p = 0; p <= pieces.size(); ++p) {
      const std::int64_t number = first + static_cast<std::int64_t>(p);
      if (p < pieces.size()) {
        if (moves) finish_exchange(q, pieces[p], number, way);
        if (moves && p + 1 < pieces.size())
          start_exchange(q, *moves, pieces[p + 1], number + 1, way);
        solve_row(q, pieces[p], number, way);
      }
      if (p > 0) update(q, pieces[p - 1], number - 1, way);
    }
  }

  // At columns that are multiples of a piece, so that a step waits for the same ones of the step
  // before.
  std::vector<Columns> cut(Columns all) const {
    std::vector<Columns> pieces;
    const LocalIndex end = all.begin + all.count;
    for (LocalIndex j = all.begin; j < end;) {
      const LocalIndex next = std::min(LocalIndex{(j.value / piece_ + 1) * piece_}, end);
      pieces.push_back({j, next - j});
      j = next;
    }
    return pieces;
  }

  void wait_for_updates(Queue& queue, Columns columns) const {
    if (columns.count == 0) return;
    const std::int64_t last = (columns.begin.value + columns.count - 1) / piece_;
    for (auto i = columns.begin.value / piece_; i <= last; ++i)
      queue.wait(*updated_[static_cast<std::size_t>(i)]);
  }

  // The moves of panel q's pivots, known on the host as soon as they are needed.
  const DeviceRowMoves& moves_of(const Panel& q) {
    const auto slot = static_cast<std::size_t>(q.step.index) % moves_.size();
    if (planned_[slot] != q.step.index) {
      planned_[slot] = q.step.index;
      const TraceScope scope(options_.trace, Track::host,
                             {.activity = Activity::wait_for_pivots, .step = q.step.index});
      const StallWatch::Doing doing(waits_.stalls, Activity::wait_for_pivots, q.step.index);
      left(q.step.index).arrive_in(*control_);
      const std::span pivots(&outcome_.pivots[static_cast<std::size_t>(q.step.begin.value)],
                             static_cast<std::size_t>(q.step.width()));
      device_.download(*control_, q.pivots, pivots);
      moves_[slot].set(*control_, plan_row_moves(pivots, q.step.begin, a_.rows()));
    }
    return moves_[slot];
  }

  RowExchange& exchange(std::int64_t number) {
    return exchanges_[static_cast<std::size_t>(number % PanelRing::pieces)];
  }

  AnyMatrix whole(Columns columns) const {
    return a_.from({0}, columns.begin).block(0, 0, a_.rows().local_size(), columns.count);
  }

  void start_exchange(const Panel& q, const DeviceRowMoves& moves, Columns columns,
                      std::int64_t number, const Way& way) {
    wait_for_updates(way.rows, columns);
    time(way.rows, exchange_of(q, Activity::exchange_rows, columns, way),
         [&] { exchange(number).start(way.rows, moves, whole(columns)); });
  }

  void finish_exchange(const Panel& q, Columns columns, std::int64_t number, const Way& way) {
    {
      const Stopwatch watch = waits_.watch(Activity::wait_for_rows, q.step.index);
      const StallWatch::Waiting waiting(waits_.stalls, "messages", grid_.column().watched());
      while (!exchange(number).test())
        if (poll_) poll_();
    }
    time(way.rows, exchange_of(q, Activity::place_rows, columns, way),
         [&] { exchange(number).finish(way.rows); });
  }

  static TraceLabel exchange_of(const Panel& q, Activity part, Columns columns, const Way& way) {
    return {
        .activity = part, .phase = way.rows_phase, .step = q.step.index, .columns = columns.count};
  }

  void solve_row(const Panel& q, Columns columns, std::int64_t number, const Way& way) {
    const auto slot = static_cast<std::size_t>(number % PanelRing::pieces);
    const Step& s = q.step;
    const RightPiece piece = ring_.piece(number, s.width(), columns.count);
    wait_for_updates(way.rows, columns);
    way.rows.wait(*used_[slot]);
    const TraceLabel label{Activity::solve_row, way.rows_phase, s.index, s.width(), columns.count};
    if (s.in_row)
      time(way.rows, label, [&] {
        const auto row = a_.from(s.row, columns.begin).block(0, 0, s.width(), columns.count);
        device_.solve_left_lower(way.rows, q.diagonal, row, options_.precision);
        device_.cast(way.rows, row, -1, piece.values, piece.header, status());
      });
    solved_[slot] = way.rows.record();
    rights_[slot].start(s.owner_row, options_.broadcast, number, piece.control(), piece.bytes(),
                        solved_[slot]);
  }

  void update(const Panel& q, Columns columns, std::int64_t number, const Way& way) {
    const auto slot = static_cast<std::size_t>(number % PanelRing::pieces);
    wait_for(rights_[slot], Activity::wait_for_row, q.step.index);
    rights_[slot].arrive_in(way.updates);
    way.updates.wait(*solved_[slot]);
    const RightPiece piece = ring_.piece(number, q.step.width(), columns.count);
    const auto c = a_.from(q.step.trailing_row, columns.begin);
    const TraceLabel label{way.update, way.update_phase, q.step.index, c.rows, columns.count};
    time(way.updates, label, [&] {
      device_.update(way.updates, q.left, q.header, piece.values, piece.header,
                     c.block(0, 0, c.rows, columns.count), poll_);
    });
    used_[slot] = way.updates.record();
    if (&way.updates == updates_.get())
      updated_[static_cast<std::size_t>(columns.begin.value / piece_)] = used_[slot];
  }

  // Of what a step gives this rank to do, how much is the panel's. To each of a panel's w columns
  // belong 2 w operations of the update before it, and about 3 w, counted at the update's rate, of
  // solves; to each of its rows the solves alone.
  double panel_part(const Step& s) const {
    const auto m = static_cast<double>(a_.rows().local_size() - s.trailing_row.value);
    const auto n = static_cast<double>(a_.columns().local_size() - s.trailing_column.value);
    const double panel = static_cast<double>(s.width()) * (5 * m * s.in_column + 3 * n * s.in_row);
    const double update = 2 * m * n;
    return update > 0 ? panel / (panel + update) : 0;
  }

  // The left panel k, once the host is through with it.
  const Carrier& receive(std::int64_t k) {
    Carrier& carrier = left(std::max<std::int64_t>(k, 0));
    if (k >= 0) wait_for(carrier, Activity::wait_for_panel, k);
    return carrier;
  }

  // The others move on meanwhile: somebody may wait for what this rank has to pass on.
  void wait_for(Carrier& carrier, Activity activity, std::int64_t k) {
    const Stopwatch watch = waits_.watch(activity, k);
    const StallWatch::Waiting waiting(waits_.stalls, "messages", carrier.awaited());
    while (!carrier.test())
      if (poll_) poll_();
  }

  void wait_for_device(const Event& event, std::int64_t k) const {
    const TraceScope scope(options_.trace, Track::host,
                           {.activity = Activity::wait_for_updates, .step = k});
    const StallWatch::Doing doing(waits_.stalls, Activity::wait_for_updates, k);
    event.wait();
  }

  void finish() {
    device_.share(0);
    for (Carrier& carrier : lefts_) wait_for(carrier, Activity::wait_for_panel, steps_ - 1);
    if (pivoting() && outcome_.usable())  // of the last panels, which nothing is behind
      for (auto k = std::max<std::int64_t>(steps_ - ring_.slots(), 0); k < steps_; ++k)
        moves_of(ring_[k]);
    for (Queue* queue : {panels_.get(), rows_.get(), updates_.get()}) queue->synchronize();
    transport_.synchronize();
    times_.finish();
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
    const Stopwatch watch = waits_.watch(Activity::agree, k);
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
  Plan plan_;
  std::int64_t steps_;
  std::int64_t piece_;
  std::unique_ptr<Queue> panels_;
  std::unique_ptr<Queue> rows_;
  std::unique_ptr<Queue> updates_;
  std::unique_ptr<Queue> control_;
  PanelRing ring_;
  Buffer status_;
  std::optional<PivotedPanel> panel_;
  std::vector<Carrier> lefts_;
  std::vector<Carrier> rights_;
  std::vector<RowExchange> exchanges_;
  std::vector<DeviceRowMoves> moves_;               // of the panels in flight
  std::vector<std::int64_t> planned_;               // the panel whose moves these are
  std::int64_t number_ = 0;                         // of the next right piece
  std::array<EventPtr, PanelRing::pieces> solved_;  // the piece is there, on its root
  std::array<EventPtr, PanelRing::pieces> used_;    // its memory is free again
  std::vector<EventPtr> updated_;  // by piece: up to date but for the panels in flight
  EventPtr last_;                  // so is the whole trailing matrix
  Poll poll_;
  FactorOutcome outcome_;
  QueueTimes times_;
  HostTimer waits_;  // for messages
};

}  // namespace

FactorOutcome factorize(Transport& transport, DistributedMatrix& a, const FactorOptions& options,
                        const Clock& clock, const ColumnsDone& done) {
  return Factorization(transport, a, options, clock).run(done);
}

}  // namespace lupine
