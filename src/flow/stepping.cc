// Following the path step by step (steps.h): the hot loop of the decoder where a trace is long.
//
// It reads the packets that most of a trace consists of. Whatever is any other, or does not fit, it
// leaves to run(), which walks the code. Where tracing goes on and off it uses what is remembered.
#include <algorithm>
#include <utility>

#include "packet_bytes.h"
#include "stepper.h"

namespace hodo::flow {

// The step that begins here.
template <Want kWant>
[[gnu::always_inline]] inline bool PathDecoder::Stepper::arrive() {
  if (link == kNoLink) {
    if (kWant == Want::runs && out.line() != ip) return false;
    link = graph.find(ip);
  }
  stepped = true;
  return link != kNoLink;
}

// Behind a step, where there may be none.
template <Want kWant>
void PathDecoder::Stepper::stay(std::uint64_t here) {
  ip = here;
  link = kNoLink;
  if constexpr (kWant == Want::runs) out.begin_line(ip);
}

template <Want kWant>
void PathDecoder::Stepper::leave() {
  if (link != kNoLink) stay<kWant>(graph.ip_of(link));
}

// What a packet did when it came here before.
template <Want kWant>
bool PathDecoder::Stepper::take(StepKind kind, std::uint64_t key) {
  if constexpr (kExact<kWant>) return false;  // the walker says which code runs
  Path* const path = memo.find(ip, key, what_of(kind, mode));
  if (path == nullptr || !path->valid_at(time)) return false;
  if constexpr (kWant == Want::runs) {
    if (!out.line_begins(*path, ip)) return false;
    out.move_line(*path, memo);
  }
  memo.hit(*path);
  if constexpr (kWant == Want::passages) judging->end_passage();
  if constexpr (kLeavesOut<kWant>) pen<kWant>().put_down();
  if constexpr (kWrites<kWant>) out.repeat(*path, memo, time);
  if constexpr (kWant == Want::passages) judging->take_up();
  if constexpr (kLeavesOut<kWant>) pen<kWant>().take_up();
  if ((path->peak | path->pops) != 0) memo.move_returns(returns, *path);
  ip = path->next;
  return true;
}

[[gnu::noinline]] void PathDecoder::Stepper::call_slowly(Tail& tail) {
  if (tail.calls == 1) {
    if (tail.link == kNoLink) tail.link = graph.known_return(tail, tail.returns);
    return returns.put(tail.returns, tail.link);
  }
  for (StepGraph::Call& call : graph.calls(tail)) {
    if (call.link == kNoLink) call.link = graph.known_return(tail, call.returns);
    returns.put(call.returns, call.link);
  }
}

// A compressed return: to the step there; kNoLink if it is none, or does not fit.
template <Want kWant>
[[gnu::always_inline]] inline Link PathDecoder::Stepper::take_return(
    Link here, const Row& row, PenFor<kWant>& pen, [[maybe_unused]] LeftOutOf<kWant>& left_out) {
  const std::uint32_t number = number_of(here);
  Tail& tail = graph.steps()[number + 1].tail;
  if (!row.next() || tail.end != Tail::End::ret) return kNoLink;
  Link to = kNoLink;
  std::uint64_t back = 0;
  if (tail.calls != 0) {
    back = wrap(tail.calls == 1 ? tail.returns : graph.calls(tail).back().returns, mode);
    to = graph.find(back);
  } else if (returns.depth() != 0) {
    back = wrap(*returns.top(), mode);
    to = returns.top_link();
    if (to == kNoLink) to = graph.find(back);
  }
  if (to == kNoLink) return kNoLink;
  StepOrTail* const step = graph.steps() + number;  // they may have moved
  if (step[1].tail.calls != 0) call<kWant>(step[1].tail);
  drop_return<kWant>(back);
  if constexpr (kLearns<kWant>) stretch.visit(here);
  if constexpr (kCounts<kWant>) ++step->step.count[0];
  if constexpr (kCountsEdges<kWant>) graph.went(here, to);
  if constexpr (kLeavesOut<kWant>) {
    pen.packet(step->step, here, back, left_out);
  } else if constexpr (kWant == Want::passages) {
    pen.come_back(step->step, here, to, back, row.left, left_out);
  } else {
    pen.packet(step->step, here, to, back);
  }
  return to;
}

// To the walker.
bool PathDecoder::Stepper::leave_outcomes(const Row& row) {
  outcomes = std::uint64_t{1} << row.left | row.outcomes >> (64 - row.left);
  return false;
}

// Several outcomes at once, if it is known where they lead.
template <Want kWant>
[[gnu::always_inline]] inline bool PathDecoder::Stepper::jump(
    Link& here, Row& row, [[maybe_unused]] LeftOutOf<kWant>& left_out) {
  const auto first = static_cast<std::uint8_t>(row.outcomes >> (64 - Supersteps::kOutcomes));
  Supersteps& supersteps = supersteps_for<kWant>();
  Superstep& found = supersteps.at(here, first);
  if (found.from != here || found.outcomes != first) {
    if (!supersteps.missed()) return false;
    const bool learned =
        kCounts<kWant> ? graph.learn(found, here, first) : graph.learn_summed(found, here, first);
    if (!learned) return false;
  }
  if constexpr (kCounts<kWant>) {
    ++found.count;
  } else {
    PenFor<kWant>::outcomes(found, left_out);
  }
  here = found.to;
  row.drop(found.used);
  return true;
}

// Outcomes under their stop bit; false: some are left for the walker.
template <Want kWant>
[[gnu::always_inline]] inline bool PathDecoder::Stepper::take_outcomes(std::uint64_t bits) {
  Row row(bits);
  const bool jumps =
      kJumps<kWant> && row.left >= Supersteps::kOutcomes && supersteps_for<kWant>().worth_a_look();
  auto&& pen = this->pen<kWant>();
  LeftOutOf<kWant> left_out;
  StepOrTail* steps = graph.steps();
  Link here = link;
  // Several are taken at once where fewer than so many are left behind them.
  const unsigned several = jumps ? 64 : 0;
  unsigned look_below = several;
  if constexpr (kWant == Want::passages) pen.begin(here, bits, row.left);
  while (row.left != 0) {
    if (shape_of(here) != Shape::outcome) [[unlikely]] {
      look_below = several;
      if (shape_of(here) == Shape::packet) {
        const Link to = take_return<kWant>(here, row, pen, left_out);
        steps = graph.steps();
        if (to == kNoLink) break;
        here = to;
        row.drop(1);
        continue;
      }
      Tail& tail = steps[number_of(here) + 1].tail;
      call<kWant>(tail);
      if constexpr (kLeavesOut<kWant>) {
        pen.call(steps[number_of(here)].step, tail, here, row.next(), left_out);
      } else if constexpr (kWant == Want::passages) {
        pen.call(steps[number_of(here)].step, here, row.next(), left_out);
      }
    } else if constexpr (kJumps<kWant>) {
      constexpr unsigned kAtOnce = Supersteps::kOutcomes;
      // Fewer than these wrap around.
      if (row.left - kAtOnce < look_below && takes_several(pen)) {
        if (jump<kWant>(here, row, left_out)) continue;
        look_below = row.left < 2 * kAtOnce ? 0 : row.left - 2 * kAtOnce + 1;
      }
    }
    const std::uint32_t taken = row.next_bit();
    if constexpr (kLearns<kWant>) stretch.visit(here);
    hodo::flow::Step& step = steps[number_of(here)].step;
    if constexpr (kCounts<kWant>) ++step.count[taken];
    if constexpr (kLeavesOut<kWant>) {
      pen.outcome(step, here, taken, left_out);
    } else if constexpr (kWant == Want::passages) {
      if (!JudgingPen::outcome(step, taken, left_out)) [[unlikely]] {
        pen.judge_outcome(here, taken != 0, row.left, left_out);
        steps = graph.steps();
      }
    } else {
      pen.outcome(step, here, taken != 0);
    }
    row.drop(1);
    Link to = steps[number_of(here)].step.next[taken];
    if (to == kNoLink) [[unlikely]] {
      to = graph.resolve(here, taken != 0);
      steps = graph.steps();
      if (to == kNoLink) {
        stay<kWant>(graph.outcome_ip(here, taken != 0));
        here = kNoLink;
        if (row.left == 0) break;
        finish_row(pen, row, left_out);
        return leave_outcomes(row);
      }
    }
    here = to;
  }
  finish_row(pen, row, left_out);
  link = here;
  return row.left == 0 || leave_outcomes(row);
}

template <Want kWant>
[[gnu::always_inline]] inline bool PathDecoder::Stepper::step_tnt() {
  const TntBytes packet(at, end);
  if (packet.size == 0 || !arrive<kWant>()) return false;
  tnt_at = at;
  at += packet.size;
  counts.tnts += 1;
  counts.tnt_bytes += packet.size;
  counts.tnt_bits += outcomes_left(packet.outcomes);
  return take_outcomes<kWant>(packet.outcomes);
}

template <Want kWant>
[[gnu::always_inline]] inline bool PathDecoder::Stepper::step_tip() {
  const IpBytes packet(at, end, last_ip);
  if (packet.size == 0 || !arrive<kWant>() || shape_of(link) != Shape::packet) return false;
  const Link to = graph.find(packet.ip);
  if (to == kNoLink) return false;
  StepOrTail* const step = graph.steps() + number_of(link);
  Tail& tail = step[1].tail;
  if (tail.calls != 0) call<kWant>(tail);
  // Every near return pops, also one whose target did not match.
  if (tail.end == Tail::End::ret) drop_return<kWant>(std::nullopt);
  if constexpr (kLearns<kWant>) stretch.visit(link);
  if constexpr (kCounts<kWant>) ++step->step.count[0];
  if constexpr (kCountsEdges<kWant>) graph.went(link, to);
  pen<kWant>().packet(step->step, link, to, packet.ip);
  link = to;
  last_ip = packet.ip;
  counts.tips += 1;
  counts.tip_bytes += packet.size;
  at += packet.size;
  return true;
}

template <Want kWant>
bool PathDecoder::Stepper::step_begin() {
  const IpBytes packet(at, end, last_ip);
  if (enabled || packet.size == 0) return false;
  leave<kWant>();
  ip = 0;
  if (!take<kWant>(StepKind::trace_begin, packet.ip)) return false;
  enabled = true;
  last_ip = packet.ip;
  counts.begins += 1;
  counts.begin_bytes += packet.size;
  at += packet.size;
  return true;
}

template <Want kWant>
bool PathDecoder::Stepper::step_end() {
  const bool here = *at >> 5 == 0;  // without an IP
  const IpBytes packet(at, end, last_ip);
  if (!enabled || (!here && packet.size == 0)) return false;
  leave<kWant>();
  if (!take<kWant>(here ? StepKind::trace_end_at : StepKind::trace_end, packet.ip)) return false;
  const std::size_t size = here ? 1 : packet.size;
  enabled = false;
  if (!here) last_ip = packet.ip;
  counts.ends += 1;
  counts.end_bytes += size;
  at += size;
  return true;
}

// One packet, or a run of padding; false if it needs the walker.
template <Want kWant>
[[gnu::always_inline]] inline bool PathDecoder::Stepper::step() {
  const std::uint8_t* const start = at;
  switch (common_packet(*at)) {
    case CommonPacket::pad:
      at = std::find_if(at, end, [](std::uint8_t byte) { return byte != 0; });
      counts.pads += static_cast<std::size_t>(at - start);
      return true;
    case CommonPacket::tnt:
      return enabled && step_tnt<kWant>();
    case CommonPacket::tip:
      return enabled && step_tip<kWant>();
    case CommonPacket::end:
      return step_end<kWant>();
    case CommonPacket::begin:
      return step_begin<kWant>();
    case CommonPacket::other:
      return false;
  }
  return false;
}

template <Want kWant>
void PathDecoder::Stepper::run() {
  [[maybe_unused]] auto* const stretches = stretches_for<kWant>();
  constexpr auto kMostOfStretch =
      static_cast<std::ptrdiff_t>(LearnedStretches<kExact<kWant>>::kMostBytes);
  if constexpr (kLeavesOut<kWant>) {
    if (stretches != nullptr) stretches->begin();
  }
  while (at != end && !graph.full()) {
    if constexpr (kLeavesOut<kWant>) {
      if (stretches != nullptr && end - at >= kMostOfStretch &&
          stretches->worth_a_look(at, [&] { return pen<kWant>().stretch_may_begin(); }) &&
          take_stretch<kWant>(*stretches)) {
        continue;
      }
    }
    if (!step<kWant>()) break;
  }
  leave<kWant>();
}

template <Want kWant>
bool PathDecoder::Stepper::follow_packets() {
  using Stretches = LearnedStretches<kExact<kWant>>;
  const std::uint8_t* const begin = at;
  const std::uint8_t* const limit = begin + Stretches::kMostBytes;
  while (!pen<kWant>().has_given_up() && link != kNoLink) {
    const std::size_t size = short_packet_size(at, end);
    if (size == 0 || limit - at < static_cast<std::ptrdiff_t>(size)) return true;
    if (Stretches::ends(begin, at) && pen<kWant>().stretch_may_begin()) return true;
    switch (common_packet(*at)) {
      case CommonPacket::tnt:
        if (!step_tnt<kWant>()) return false;
        break;
      case CommonPacket::tip:
        if (!step_tip<kWant>()) return true;
        break;
      default:
        return true;
    }
  }
  return false;
}

template bool PathDecoder::Stepper::follow_packets<Want::learned_transfers>();
template bool PathDecoder::Stepper::follow_packets<Want::learned_exact_transfers>();

// Null: calls are not followed here.
const CallJudge* PathDecoder::judge_of_calls() {
  const CallJudge* const judge = out_.call_judge();
  if (judge == nullptr) return nullptr;
  const std::uint64_t number = judge->judged_by(walker_.time);
  if (out_.wants_lines()) out_.passed_calls_of(*graph_);
  return graph_->may_judge_calls(number) ? judge : nullptr;
}

void PathDecoder::go_by_steps() {
  // Passages are told in links that are void then.
  if (out_.wants_passages() && !graph_->holds_at(walker_.time)) out_.finish_passages();
  bool moved = graph_->move_to(walker_.time, walker_.mode);
  if (graph_->full() || graph_->counted_out()) {
    out_.settle(*graph_);
    if (graph_->full()) {
      out_.finish_passages();  // in its words
      graph_->clear();
      graph_->move_to(walker_.time, walker_.mode);
      moved = true;
    }
  }
  if (moved) walker_.returns().forget_links();
  Stepper s(*this);
  const std::uint8_t* const start = s.at;
  if (out_.wants_runs()) {
    s.run<Want::runs>();
  } else if (out_.judge() != nullptr) {
    graph_->judge_by(out_.judge()->judged_by(walker_.time));
    out_.passages_of(*graph_);
    out_.begin_passages();
    s.judging.emplace(*graph_, out_, walker_.time);
    s.run<Want::passages>();
    s.judging.reset();
  } else if (out_.leaves_out() != nullptr) {
    out_.tell_next();  // the walker does not ask about what falls through
    out_.transfers_of(graph_->book());
    const CallJudge* const judge = judge_of_calls();
    if (out_.wants_lines()) {
      s.leaving_out_exactly.emplace(*graph_, out_, walker_.time, judge);
      s.run<Want::exact_transfers>();
      s.leaving_out_exactly.reset();
    } else {
      s.leaving_out.emplace(*graph_, out_, walker_.time, judge);
      s.run<Want::transfers>();
      s.leaving_out.reset();
    }
    graph_->followed_bytes(static_cast<std::size_t>(s.at - start));
    graph_->stepped(static_cast<std::size_t>(s.at - start));
  } else if (out_.wants_branches()) {
    s.run<Want::branches>();
  } else if (out_.wants_edges()) {
    s.run<Want::edges>();
  } else {
    s.run<Want::counts>();
  }
  if (s.stepped && !out_.wants_branches())
    graph_->followed(8 * static_cast<std::uint64_t>(s.at - start) + 64);
  memo_->stepped(static_cast<std::size_t>(s.at - start));
  reader_.seek(static_cast<std::size_t>(s.at - bytes_.data()));
  walker_.ip = s.ip;
  walker_.enabled = s.enabled;
  last_ip_ = pt::LastIp(s.last_ip);
  outcomes_ = s.outcomes;
  if (outcomes_ != kNoOutcomes) {
    tnt_at_ = packet_at_ = static_cast<std::size_t>(s.tnt_at - bytes_.data());
  }
  count_packets(out_.stats(), s.counts, 1);
}

}  // namespace hodo::flow
