// Learning what stretches of packets do where jumps are left out (learned.h), and taking them at
// once when they come again.
#include <algorithm>
#include <utility>

#include "stepper.h"

namespace hodo::flow {

template <Want kWant>
bool PathDecoder::Stepper::take_stretch(LearnedStretches<kExact<kWant>>& stretches) {
  if (*at == 0 || !enabled || link == kNoLink || !pen<kWant>().may_take_learned()) return false;
  StretchTable& table = stretches.table();
  const std::uint8_t what = what_of(StepKind::stretch, mode);
  const std::uint64_t key = StretchTable::key_of(at, last_ip, returns.top().value_or(0));
  Stretch* const known = table.find(link, key, what, [&](const Stretch& one) {
    return one.last_ip == last_ip && one.same_bytes(at) && one.fits(returns);
  });
  if (known != nullptr) {
    if (auto* const learned = stretches.of(*known); learned != nullptr) {
      return take_learned<kWant>(stretches, *known, *learned);
    }
    if (!stretches.tries_again(*known)) return false;
  } else if (!table.came_before(link, key, at)) {
    return false;
  }
  return learn<kWant>(stretches, key, known);
}

template <Want kWant>
[[gnu::always_inline]] inline bool PathDecoder::Stepper::take_learned(
    LearnedStretches<kExact<kWant>>& stretches, const Stretch& known,
    Learned<kExact<kWant>>& learned) {
  if (!pen<kWant>().take(learned)) return false;
  stretches.took();
  for (unsigned i = 0; i < known.path.pops; ++i) returns.drop();
  for (const auto& [ip_behind, step] : learned.pushed) returns.put(ip_behind, step);
  add(counts, known.packets);
  link = learned.to;
  last_ip = known.next_last_ip;
  at += known.length;
  stepped = true;
  return true;
}

template <Want kWant>
bool PathDecoder::Stepper::learn(LearnedStretches<kExact<kWant>>& stretches, std::uint64_t key,
                                 Stretch* useless) {
  auto& pen = this->pen<kWant>();
  if (stretches.full()) {
    if (stretches.has_paid()) stretches.clear();
    return false;
  }
  if (!pen.begin_learning()) return false;
  const Place begin = place();
  stretch.begin();
  const bool followed = follow_packets<kLearned<kWant>>(at + kStretchBytes);
  const auto length = static_cast<std::size_t>(at - begin.at);
  Stretch made{.path = {.ip = begin.link, .key = key, .what = what_of(StepKind::stretch, mode)},
               .last_ip = begin.last_ip,
               .next_last_ip = last_ip,
               .length = static_cast<std::uint8_t>(length),
               .packets = difference(counts, begin.counts)};
  Learned<kExact<kWant>> learned{.to = link};
  bool useful = pen.finish_learning(learned) && followed && length >= kLeastStretch;
  useful = useful && stretch.finish(returns, made, learned.pushed);
  if constexpr (kExact<kWant>) {
    if (useful) note_units(learned);
  }
  go_back_to(begin);
  if (!useful) made.length = kStretchBytes;
  std::copy_n(at, made.length, made.bytes.begin());
  if (!useful) {
    if (useless == nullptr) stretches.add_useless(made);
    return false;
  }
  auto& kept = stretches.add(made, std::move(learned), useless);
  return made.fits(returns) && take_learned<kWant>(stretches, made, kept);
}

void PathDecoder::Stepper::note_units(Learned<true>& learned) {
  for (const Link one : stretch.visited()) graph.append_units(one, learned.units);
  learned.round = graph.round();
}

template bool PathDecoder::Stepper::take_stretch<Want::transfers>(LearnedStretches<false>&);
template bool PathDecoder::Stepper::take_stretch<Want::exact_transfers>(LearnedStretches<true>&);

}  // namespace hodo::flow
