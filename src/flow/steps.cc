#include "steps.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <utility>

#include "hodo/flow/branch_kind.h"
#include "walker.h"

namespace hodo::flow {
namespace {

using isa::InsnClass;

constexpr std::uint64_t kNever = ~std::uint64_t{0};

bool holds(const BlockCache::Validity& validity, std::uint64_t time) {
  return validity.from <= time && time < validity.until;
}

BlockCache::Validity narrower(const BlockCache::Validity& a, const BlockCache::Validity& b) {
  return {std::max(a.from, b.from), std::min(a.until, b.until)};
}

Tail::End end_of(InsnClass cls) {
  switch (cls) {
    case InsnClass::cond:
      return Tail::End::outcome;
    case InsnClass::ret:
      return Tail::End::ret;
    case InsnClass::icall:
      return Tail::End::call;
    default:
      return Tail::End::indirect;
  }
}

}  // namespace

// From an address to the next branch that needs a packet.
class StepGraph::Walk {
 public:
  // False: it is for the walker to say what is wrong here.
  bool go(BlockCache& blocks, std::uint64_t ip, isa::Mode mode, std::uint64_t time) {
    for (unsigned i = 0; i < kMostBlocks; ++i) {
      const Block* const next = blocks.at(ip, mode, time);
      if (next == nullptr) return false;
      block = *next;
      insns += block.insns;
      tail += block.insns;
      at = last_ip(ip, block);
      const std::uint64_t end = end_ip(ip, block);
      if (needs_packet(block.cls)) {
        if (block.cls == InsnClass::icall) calls.push_back({.returns = end});
        return true;
      }
      const bool branches = block.cls == InsnClass::jmp || block.cls == InsnClass::call;
      ip = branches ? branch(ip, end) : end;
    }
    return false;
  }

  Block block;  // the last
  std::uint64_t at = 0;
  std::uint32_t insns = 0;
  std::uint32_t tail = 0;  // behind the last edge
  std::vector<Branch> edges;
  std::vector<Call> calls;

 private:
  std::uint64_t branch(std::uint64_t ip, std::uint64_t end) {
    const std::uint64_t to = target_ip(ip, block);
    edges.push_back(
        {.from = at, .to = to, .insns = std::exchange(tail, 0), .kind = describe(block.cls).kind});
    // As the walker has it.
    if (block.cls == InsnClass::call && block.displacement != 0) calls.push_back({.returns = end});
    return to;
  }
};

StepGraph::StepGraph(BlockCache& blocks) : blocks_(blocks) { clear(); }

void StepGraph::forget_learned() {
  stepped_ = 0;
  std::apply([](auto&... all) { (all.reset(), ...); }, learned_);
}

void StepGraph::clear() {
  window_ = {};
  forget_learned();
  steps_.assign(1, {});
  details_.assign(1, {});
  shown_.assign(1, {});
  times_.assign(has_times_ ? 1 : 0, {});
  units_.assign(1, kNoUnit);
  unit_numbers_.clear();
  unit_lists_.clear();
  ran_.assign(1, 0);
  awake_.clear();
  opened_.clear();
  not_plain_.clear();
  asks_again_.clear();
  edges_.clear();
  calls_.clear();
  validities_.clear();
  sources_.assign(1, {});
  endings_.clear();
  table_.assign(kLeastSize, {});
  shift_ = 64 - static_cast<unsigned>(std::countr_zero(kLeastSize));
  place_count_ = 0;
  front_.assign(kFrontSize, {});
  pairs_.clear();
  supersteps_.clear();
  summed_supersteps_.clear();
  book_ = std::make_shared<TransferBook>();
  told_.assign(1, {});
  targets_.assign(1, {});
  other_targets_.assign(kOtherTargets, {});
  uncounted_ = 0;
  full_ = false;
}

bool StepGraph::move_to(std::uint64_t time, isa::Mode mode) {
  time_ = time;
  bool moved = false;
  if (std::exchange(mode_, mode) != mode) {
    front_.assign(kFrontSize, {});
    forget_learned();
    moved = true;
  }
  if (holds_at(time)) return moved;
  forget_learned();
  if (time < window_.from) {
    drop_outdated();
  } else {
    drop_ended();
  }
  return true;
}

Link StepGraph::known(std::uint64_t ip) const {
  const std::size_t mask = table_.size() - 1;
  for (std::size_t at = hash_of(ip, mode_) >> shift_;; at = (at + 1) & mask) {
    const Place& place = table_[at];
    if (place.link == kNoLink) return kNoLink;
    if (place.ip == ip && place.mode == mode_) return place.link;
  }
}

Link StepGraph::look(std::uint64_t ip) {
  Link link = known(ip);
  if (link == kNoLink) link = build(ip);
  if (link != kNoLink) front_[front_slot(ip)] = {ip, link};
  return link;
}

Link StepGraph::build(std::uint64_t ip) {
  if (full_) return kNoLink;
  Walk walk;
  blocks_.watch();
  if (!walk.go(blocks_, ip, mode_, time_)) return kNoLink;
  if (walk.calls.size() > Tail::kMostCalls) return kNoLink;
  const Link link = add(walk, ip);
  insert({ip, link, mode_});
  add_ending({ip, link, mode_});
  full_ = steps_.size() >= kMostSteps || std::max(edges_.size(), calls_.size()) >= kMostEdges;
  return link;
}

void StepGraph::add_place() {
  if (steps_.size() == kManySteps) make_room();
  steps_.emplace_back();
  details_.emplace_back();
  shown_.emplace_back();
  if (has_times_) times_.emplace_back();
  units_.push_back(kNoUnit);
}

// For all that will ever come: what is not used of it takes no memory, and what is there is not
// copied any more.
void StepGraph::make_room() {
  constexpr std::size_t kOfLast = 3;  // a step that makes it full, and its tail
  steps_.reserve(kMostSteps + kOfLast);
  details_.reserve(kMostSteps + kOfLast);
  shown_.reserve(kMostSteps + kOfLast);
  if (has_times_) times_.reserve(kMostSteps + kOfLast);
  units_.reserve(kMostSteps + kOfLast);
}

void StepGraph::keep_in_place() {
  make_room();
  edges_.reserve(kMostEdges + kMostBlocks);
  calls_.reserve(kMostEdges + kMostBlocks);
}

Link StepGraph::add(const Walk& walk, std::uint64_t ip) {
  const Tail::End end = end_of(walk.block.cls);
  const bool has_tail = end != Tail::End::outcome || !walk.calls.empty();
  // Both in one cache line.
  if (has_tail && steps_.size() % 2 != 0) add_place();
  const auto number = static_cast<std::uint32_t>(steps_.size());
  add_place();
  details_.back() = {.ip = ip,
                     .insns = walk.insns,
                     .validity = add_validity(),
                     .last_size = walk.block.last_size,
                     .cls = walk.block.cls,
                     .mode = mode_,
                     .has_tail = has_tail};
  if (has_times_) times_.back().any = time_;
  const auto displacement = static_cast<std::uint64_t>(std::int64_t{walk.block.displacement});
  const auto [kind, flags] = describe(walk.block.cls);
  shown_.back() = {.at = walk.at,
                   .to = wrap(walk.at + walk.block.last_size + displacement, mode_),
                   .tail = walk.tail,
                   .edges = static_cast<std::uint32_t>(edges_.size()),
                   .edge_count = static_cast<std::uint16_t>(walk.edges.size()),
                   .kind = kind,
                   .flags = flags};
  edges_.insert(edges_.end(), walk.edges.begin(), walk.edges.end());
  if (!has_tail) return link_to(number, Shape::outcome);
  if (end != Tail::End::outcome) steps_.back().step.next[0] = StepPairs::kEmpty;
  Tail tail{.calls = static_cast<std::uint8_t>(walk.calls.size() & Tail::kMostCalls), .end = end};
  if (tail.calls == 1) tail.returns = walk.calls[0].returns;
  if (tail.calls > 1) {
    tail.returns = calls_.size();
    calls_.insert(calls_.end(), walk.calls.begin(), walk.calls.end());
  }
  add_place();
  steps_.back().tail = tail;
  return link_to(number, end == Tail::End::outcome ? Shape::calls : Shape::packet);
}

std::uint32_t StepGraph::add_validity() {
  const BlockCache::Validity& now = blocks_.validity();
  window_ = narrower(window_, now);
  const bool same = !validities_.empty() && validities_.back().from == now.from &&
                    validities_.back().until == now.until;
  if (!same) validities_.push_back(now);
  return static_cast<std::uint32_t>(validities_.size() - 1);
}

void StepGraph::insert(const Place& place) {
  if (4 * ++place_count_ > 3 * table_.size()) grow();
  std::size_t at = hash_of(place.ip, place.mode) >> shift_;
  while (table_[at].link != kNoLink) at = (at + 1) & (table_.size() - 1);
  table_[at] = place;
}

void StepGraph::grow() {
  const std::vector<Place> old = std::exchange(table_, std::vector<Place>(2 * table_.size()));
  --shift_;
  place_count_ = 1;  // the one that is about to be inserted
  for (const Place& place : old) {
    if (place.link != kNoLink) insert(place);
  }
}

std::uint64_t StepGraph::outcome_ip(Link link, bool taken) const {
  const Shown& shown = shown_[number_of(link)];
  if (taken) return shown.to;
  const Detail& detail = details_[number_of(link)];
  return wrap(shown.at + detail.last_size, detail.mode);
}

Link StepGraph::resolve(Link from, bool taken) {
  if (has_times_) {
    std::uint64_t& time = times_[number_of(from)].outcome[taken ? 1 : 0];
    time = std::min(time, time_);
  }
  const Link link = look(outcome_ip(from, taken));
  steps_[number_of(from)].step.next[taken ? 1 : 0] = link;
  note_source(link, number_of(from));
  return link;
}

Link StepGraph::known_return(const Tail& tail, std::uint64_t returns) {
  const Link link = known(returns);
  const auto* const at = reinterpret_cast<const StepOrTail*>(&tail);
  note_source(link, static_cast<std::uint32_t>(at - steps_.data() - 1));
  return link;
}

void StepGraph::note_source(Link to, std::uint32_t from) {
  if (to == kNoLink) return;
  Detail& detail = details_[number_of(to)];
  if (validities_[detail.validity].until == kNever) return;
  const auto same = sources_.back();
  if (detail.sources == sources_.size() - 1 && same.from == from) return;
  sources_.push_back({from, detail.sources});
  detail.sources = static_cast<std::uint32_t>(sources_.size() - 1);
}

bool StepGraph::learn(Superstep& at, Link from, std::uint8_t outcomes) {
  Link link = from;
  unsigned used = 0;
  for (; used < Supersteps::kOutcomes && shape_of(link) == Shape::outcome; ++used) {
    const unsigned taken = outcomes >> (Supersteps::kOutcomes - 1 - used) & 1u;
    link = steps_[number_of(link)].step.next[taken];
  }
  if (link == kNoLink) return false;
  count(at);
  at = {.from = from, .to = link, .outcomes = outcomes, .used = static_cast<std::uint8_t>(used)};
  return true;
}

bool StepGraph::learn_summed(Superstep& at, Link from, std::uint8_t outcomes) const {
  Superstep made{.from = from, .to = from, .outcomes = outcomes};
  while (made.used < Supersteps::kOutcomes && shape_of(made.to) == Shape::outcome) {
    const unsigned taken = outcomes >> (Supersteps::kOutcomes - 1 - made.used) & 1u;
    const Step& step = steps_[number_of(made.to)].step;
    const std::uint32_t word = step.count[taken];
    if ((word & leaving::kAll) == 0 || step.next[taken] == kNoLink) break;
    made.count += leaving::addend(word);
    made.to = step.next[taken];
    if (taken != 0) ++made.taken;
    ++made.used;
  }
  if (made.used == 0) return false;
  at = made;
  return true;
}

void StepGraph::count(const Superstep& superstep) {
  if (superstep.count == 0) return;
  Link link = superstep.from;
  for (unsigned used = 0; used < superstep.used; ++used) {
    const unsigned taken = superstep.outcomes >> (Supersteps::kOutcomes - 1 - used) & 1u;
    Step& step = steps_[number_of(link)].step;
    step.count[taken] += superstep.count;
    link = step.next[taken];
  }
}

bool StepGraph::is_valid(Link link) const {
  return holds(validities_[details_[number_of(link)].validity], time_);
}

void StepGraph::add_ending(const Place& place) {
  const std::uint64_t until = validities_[details_[number_of(place.link)].validity].until;
  if (until == kNever) return;
  endings_.push_back({until, place.ip, place.link, place.mode});
  std::ranges::push_heap(endings_, std::greater());
}

// The code has changed: what is not as it was can no longer be found. It stays until it is counted,
// and where most of all is so, that is to be soon. Only steps that go and those that link to them
// are looked at: a generator changes code every few hundred branches.
void StepGraph::drop_ended() {
  supersteps_.settle([&](const Superstep& superstep) { count(superstep); });
  supersteps_.clear();
  summed_supersteps_.clear();
  while (!endings_.empty() && endings_.front().until <= time_) {
    const Ending ending = endings_.front();
    std::ranges::pop_heap(endings_, std::greater());
    endings_.pop_back();
    erase(ending.ip, ending.mode);
    Front& front = front_[front_slot(ending.ip)];
    if (front.link == ending.link) front = {};
    std::uint32_t& sources = details_[number_of(ending.link)].sources;
    for (std::uint32_t at = std::exchange(sources, 0); at != 0; at = sources_[at].next) {
      drop_outdated_links(sources_[at].from);
    }
  }
  window_.until = endings_.empty() ? kNever : endings_.front().until;
  full_ = full_ || steps_.size() > kFewSteps + kMostGone * place_count_;
}

// What lies behind moves up, as far as it may (Knuth, The Art of Computer Programming 6.4,
// algorithm R).
void StepGraph::erase(std::uint64_t ip, isa::Mode mode) {
  const std::size_t mask = table_.size() - 1;
  std::size_t at = hash_of(ip, mode) >> shift_;
  while (table_[at].ip != ip || table_[at].mode != mode) at = (at + 1) & mask;
  for (std::size_t next = (at + 1) & mask; table_[next].link != kNoLink; next = (next + 1) & mask) {
    const std::size_t home = hash_of(table_[next].ip, table_[next].mode) >> shift_;
    if (((next - home) & mask) < ((next - at) & mask)) continue;
    table_[at] = table_[next];
    at = next;
  }
  table_[at] = {};
  --place_count_;
}

// The same where time goes back, as from one thread to the next: what has not been yet goes, too.
void StepGraph::drop_outdated() {
  window_ = {};
  front_.assign(kFrontSize, {});
  supersteps_.settle([&](const Superstep& superstep) { count(superstep); });
  supersteps_.clear();
  summed_supersteps_.clear();
  for (std::size_t n = 1; n < steps_.size(); ++n) {
    if (details_[n].last_size != 0) drop_outdated_links(n);
  }
  const std::vector<Place> old = std::exchange(table_, std::vector<Place>(table_.size()));
  place_count_ = 0;
  endings_.clear();
  for (const Place& place : old) {
    if (place.link == kNoLink || !is_valid(place.link)) continue;
    insert(place);
    add_ending(place);
    window_ = narrower(window_, validities_[details_[number_of(place.link)].validity]);
  }
  full_ = full_ || steps_.size() > kFewSteps + kMostGone * place_count_;
}

void StepGraph::drop_outdated_links(std::size_t n) {
  Step& step = steps_[n].step;
  if (end_of(details_[n].cls) == Tail::End::outcome) {
    for (const std::size_t i : {0U, 1U}) {
      Link& link = step.next[i];
      if (link == kNoLink || is_valid(link)) continue;
      // What a sink said of a branch that leads there. Returns to this step are not of it.
      if (judged_by_) step.count[i] &= judging::kReturnedTo;
      link = kNoLink;
    }
  }
  if (!details_[n].has_tail) return;
  Tail& tail = steps_[n + 1].tail;
  if (tail.link != kNoLink && !is_valid(tail.link)) tail.link = kNoLink;
  if (tail.calls < 2) return;
  for (Call& call : calls(tail)) {
    if (call.link != kNoLink && !is_valid(call.link)) call.link = kNoLink;
  }
}

// What the counts come to.
class StepGraph::Settling {
 public:
  Settling(StepGraph& graph, Stats& stats, const Receivers& to)
      : graph_(graph), stats_(stats), to_(to) {}

  void step(std::uint32_t number) {
    Step& step = graph_.steps_[number].step;
    if ((step.count[0] | step.count[1]) == 0) return;
    const Shown& shown = graph_.shown_[number];
    const auto counts = std::exchange(step.count, {});
    std::uint64_t times = counts[0];
    if (shown.kind == BranchKind::cond) {
      times += counts[1];
      stats_.not_taken += counts[0];
      branches(BranchKind::cond) += counts[1];
    } else {
      branches(shown.kind) += times;
      if (wants_edges()) led_to(number);
    }
    stats_.instructions += times * graph_.details_[number].insns;
    on_the_way(number, times);
    if (shown.kind == BranchKind::cond) outcomes(number, counts);
  }

  void finish() { hand_on(); }

 private:
  static constexpr std::size_t kBatch = 1 << 10;

  std::uint64_t& branches(BranchKind kind) {
    return stats_.branches[static_cast<std::size_t>(kind)];
  }
  bool wants_edges() const { return to_.edges != nullptr || to_.runs != nullptr; }
  // Where the straight line begins that the branch at the end ends.
  std::uint64_t line(std::uint32_t number) const {
    const auto edges = graph_.edges(graph_.shown_[number]);
    return edges.empty() ? graph_.details_[number].ip : edges.back().to;
  }

  void on_the_way(std::uint32_t number, std::uint64_t times) {
    std::uint64_t begin = graph_.details_[number].ip;
    for (const Branch& edge : graph_.edges(graph_.shown_[number])) {
      branches(edge.kind) += times;
      if (wants_edges()) {
        add({edge.from, edge.to, times, edge.kind, edge.flags}, begin, graph_.times_[number].any,
            edge.insns);
      }
      begin = edge.to;
    }
  }

  void led_to(std::uint32_t number) {
    const Shown& from = graph_.shown_[number];
    const std::uint64_t begin = line(number);
    const StepPairs::List list = graph_.steps_[number].step.next[0];
    graph_.pairs_.settle(list, [&](std::uint32_t to, std::uint64_t times, std::uint64_t first) {
      add({from.at, graph_.details_[to].ip, times, from.kind, from.flags}, begin, first, from.tail);
    });
  }

  void outcomes(std::uint32_t number, const std::array<std::uint32_t, 2>& counts) {
    if (!wants_edges()) return;
    const Shown& shown = graph_.shown_[number];
    const Link link = link_to(number, Shape::outcome);
    for (const bool taken : {false, true}) {
      const std::size_t i = taken ? 1 : 0;
      if (counts[i] == 0) continue;
      add({shown.at, graph_.outcome_ip(link, taken), counts[i], BranchKind::cond,
           taken ? std::uint8_t{0} : std::uint8_t{kNotTaken}},
          line(number), graph_.times_[number].outcome[i], shown.tail);
    }
  }

  void add(const EdgeCount& edge, std::uint64_t begin, std::uint64_t time, std::uint32_t insns) {
    if (to_.edges != nullptr) graph_.edge_counts_.push_back(edge);
    if (to_.runs != nullptr) graph_.run_counts_.push_back({edge, begin, time, insns});
    if (graph_.edge_counts_.size() + graph_.run_counts_.size() >= kBatch) hand_on();
  }

  void hand_on() {
    if (to_.edges != nullptr && !graph_.edge_counts_.empty())
      to_.edges->on_edges(graph_.edge_counts_);
    if (to_.runs != nullptr && !graph_.run_counts_.empty()) to_.runs->on_runs(graph_.run_counts_);
    graph_.edge_counts_.clear();
    graph_.run_counts_.clear();
  }

  StepGraph& graph_;
  Stats& stats_;
  const Receivers& to_;
};

void StepGraph::settle(Stats& stats, const Receivers& to) {
  if (std::exchange(uncounted_, 0) == 0) return;
  supersteps_.settle([&](const Superstep& superstep) { count(superstep); });
  Settling settling(*this, stats, to);
  for (std::uint32_t n = 1; n < steps_.size(); ++n) {
    if (details_[n].last_size != 0) settling.step(n);
  }
  settling.finish();
}

}  // namespace hodo::flow
