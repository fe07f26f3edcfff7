// Learning what stretches of packets do where jumps are left out (learned.h), and taking them at
// once when they come again.
#include <algorithm>
#include <utility>

#include "stepper.h"

namespace hodo::flow {

template <Want kWant>
bool PathDecoder::Stepper::take_stretch(LearnedStretches<kExact<kWant>>& stretches) {
  if (*at == 0 || !enabled || link == kNoLink) return false;
  const auto found =
      stretches.find({.from = link, .last_ip = last_ip, .at = at, .returns = returns});
  if (found.stretch != nullptr) return take_learned<kWant>(stretches, *found.stretch);
  return found.to_learn && learn<kWant>(stretches, found);
}

template <Want kWant>
[[gnu::always_inline]] inline bool PathDecoder::Stepper::take_learned(
    LearnedStretches<kExact<kWant>>& stretches, KeptStretch<kExact<kWant>>& known) {
  stretches.takes(known);
  if (!pen<kWant>().take(known.does)) return false;
  stretches.took(known);
  for (unsigned i = 0; i < known.pops; ++i) returns.drop();
  for (const LearnedPush& one : known.does.pushed) returns.put(one.returns, one.step);
  add(counts, known.packets);
  link = known.does.to;
  last_ip = known.last_ip_behind;
  at += known.length;
  stepped = true;
  return true;
}

template <Want kWant>
bool PathDecoder::Stepper::learn(LearnedStretches<kExact<kWant>>& stretches,
                                 const typename LearnedStretches<kExact<kWant>>::Found& found) {
  auto& pen = this->pen<kWant>();
  if (stretches.full()) {
    if (stretches.has_paid()) stretches.clear();
    return false;
  }
  if (!pen.begin_learning()) return false;
  const Place begin = place();
  stretch.begin();
  const bool followed = follow_packets<kLearned<kWant>>();
  const auto length = static_cast<std::size_t>(at - begin.at);
  KeptStretch<kExact<kWant>> made{.from = begin.link,
                                  .last_ip = begin.last_ip,
                                  .last_ip_behind = last_ip,
                                  .length = static_cast<std::uint8_t>(length),
                                  .packets = difference(counts, begin.counts)};
  Learned<kExact<kWant>> learned{.to = link};
  bool useful = pen.finish_learning(learned) && followed && length >= stretches.kLeastBytes;
  useful = useful && stretch.finish(returns, made, learned);
  if constexpr (kExact<kWant>) {
    if (useful) note_units(learned);
  }
  go_back_to(begin);
  auto* const kept = useful ? stretches.add(found, made, at, learned) : nullptr;
  if (kept == nullptr) {
    stretches.add_useless(found);
    return false;
  }
  return kept->fits(returns) && take_learned<kWant>(stretches, *kept);
}

void PathDecoder::Stepper::note_units(Learned<true>& learned) {
  for (const Link one : stretch.visited()) graph.append_units(one, learned.units);
  learned.round = graph.round();
}

template bool PathDecoder::Stepper::take_stretch<Want::transfers>(LearnedStretches<false>&);
template bool PathDecoder::Stepper::take_stretch<Want::exact_transfers>(LearnedStretches<true>&);

}  // namespace hodo::flow
