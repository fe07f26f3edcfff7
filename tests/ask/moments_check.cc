// Holds moments of a recording against a plain decode of it from front to back.
//   moments_check RECORDING COUNT SEED [SPACING]
// For COUNT random moments: the branches before and after, the time, the instruction and the open
// calls are those that a plain walk has there; and each step back undoes the step forward. With
// SPACING an index with a segment for so many bytes answers, and must say what is said without; it
// must be the same whether calls come one by one or not. So must the call tree. Prints how many
// were checked; status 1 at the first difference.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <random>

#include "call_tree_check.h"
#include "hodo/analyze/open_calls.h"
#include "hodo/ask/find.h"
#include "hodo/ask/navigate.h"
#include "hodo/ask/scene.h"
#include "hodo/session/session.h"
#include "hodo/session/time_order.h"
#include "index_check.h"
#include "questions_check.h"

namespace {

using namespace hodo;

// All branches, by thread.
class Plain final : public session::BranchSink {
 public:
  bool branches(const session::Context& who, std::span<const Branch> batch) override {
    Thread& thread = threads[ask::thread_of(who)];
    for (const Branch& b : batch) {
      thread.branches.push_back(b);
      thread.who.push_back(who);
    }
    return true;
  }
  Threads threads;
};

[[noreturn]] void differ(const ask::Moment& at, const std::string& what) {
  fmt::print("{}: {}\n", to_string(at), what);
  std::exit(1);
}

class Checker {
 public:
  Checker(session::Session& session, const Plain& plain, const ask::IndexedRecording* index)
      : session_(session), plain_(plain), index_(index) {}

  void check(const ask::Moment& at) {
    auto scene = ask::scene_at(session_, at, {.before = 40, .after = 40, .index = index_});
    if (!scene) differ(at, scene.error().message);
    if (index_ != nullptr) without_index(*scene);
    const Thread& thread = plain_.threads.at(at.thread);
    branches(*scene, thread);
    calls(*scene, thread);
    steps(*scene);
  }

  std::size_t steps_checked = 0;

 private:
  void branches(const ask::Scene& scene, const Thread& thread) {
    const ask::Moment& at = scene.moment;
    const auto first = at.branch - scene.before.size();
    if (at.branch != 0 && scene.before.empty()) differ(at, "no branches before");
    for (std::size_t i = 0; i < scene.before.size(); ++i) {
      if (!same(scene.before[i].branch, thread.branches[first + i])) differ(at, "before");
    }
    const auto count = std::min<std::size_t>(40, thread.branches.size() - at.branch);
    if (scene.after.size() != count) differ(at, "number of branches after");
    for (std::size_t i = 0; i < count; ++i) {
      if (!same(scene.after[i].branch, thread.branches[at.branch + i])) differ(at, "after");
    }
    const std::uint64_t time = at.branch == 0 ? 0 : thread.branches[at.branch - 1].time;
    if (scene.time != time) differ(at, "time");
  }

  void without_index(const ask::Scene& scene) {
    const ask::Moment& at = scene.moment;
    const auto plain = ask::scene_at(session_, at, {.before = 40, .after = 40});
    if (!plain) differ(at, plain.error().message);
    const auto same = [&](bool is, const char* what) {
      if (!is) differ(at, fmt::format("{} with and without the index", what));
    };
    same(scene.address == plain->address, "address");
    same(scene.last_loss == plain->last_loss, "last loss");
    same(scene.call_before == plain->call_before, "call before");
    same(scene.call_after == plain->call_after, "call after");
    same(scene.return_before == plain->return_before, "return before");
    same(scene.return_after == plain->return_after, "return after");
    same(scene.out_before == plain->out_before, "out, back");
    same(scene.out_after == plain->out_after, "out");
    same(scene.ends == plain->ends, "end");
    same(scene.calls.size() == plain->calls.size(), "number of calls");
    for (std::size_t i = 0; i < scene.calls.size(); ++i) {
      const ask::OpenFrame& a = scene.calls[i];
      const ask::OpenFrame& b = plain->calls[i];
      same(a.name == b.name && a.object == b.object && a.at == b.at && a.entered == b.entered &&
               a.entry_time == b.entry_time && a.instructions == b.instructions && a.how == b.how,
           "a call");
    }
  }

  void calls(const ask::Scene& scene, const Thread& thread) {
    analyze::Following following(session_.names(), session_.clock());
    analyze::OpenCalls open(following, nullptr);
    for (std::size_t i = 0; i < scene.moment.branch; ++i) {
      open.branch(thread.who[i].space, thread.branches[i]);
    }
    std::vector<std::string> names;
    const auto all = open.open();
    for (std::size_t i = 0; i < all.size(); ++i) {
      const auto name = [&](std::size_t n) { return following.functions()[all[n].function].name; };
      // A goroutine returns to nothing below its first function, to which gogo jumps.
      const bool begins = i > 1 && all[i].how == analyze::CallEntry::jumped &&
                          name(i - 1) == "gogo" && name(i - 2).starts_with("runtime.gogo");
      if (begins) names.clear();
      if (!all[i].stub || i + 1 == all.size()) names.push_back(name(i));
    }
    std::ranges::reverse(names);
    if (names.size() != scene.calls.size()) differ(scene.moment, "number of open calls");
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (names[i] != scene.calls[i].name) differ(scene.moment, "open call " + names[i]);
    }
  }

  void steps(const ask::Scene& scene) {
    ask::Code code(session_);
    const auto steps = ask::steps_of(scene, code, 10'000);
    ask::SourceLines lines(session_.names());
    for (std::size_t i = 0; i + 1 < steps.size(); ++i) {
      if (!(steps[i].moment < steps[i + 1].moment)) differ(scene.moment, "steps are not in order");
    }
    const auto here = std::ranges::find(steps, scene.moment, &ask::Step::moment);
    if (here == steps.end() || here + 1 == steps.end()) return;
    ask::Scene next = scene;
    next.moment = (here + 1)->moment;
    const auto back = ask::neighbours_of(next, steps, lines).before[0];
    if (!back || *back != scene.moment) differ(scene.moment, "a step back does not undo a step");
    ++steps_checked;
    const auto there = ask::neighbours_of(scene, steps, lines);
    const auto& line_here = lines.at(here->who.space, here->address, here->time);
    if (!there.after[1] || line_here.line == 0) return;
    next.moment = *there.after[1];
    const auto line = ask::neighbours_of(next, steps, lines).before[1];
    if (!line || scene.moment < *line) differ(scene.moment, "a line back is not before it");
    next.moment = *line;
    const auto again = ask::neighbours_of(next, steps, lines).after[1];
    if (again != there.after[1]) differ(scene.moment, "a line back and forward leads elsewhere");
    ++steps_checked;
  }

  session::Session& session_;
  const Plain& plain_;
  const ask::IndexedRecording* index_;
};

// Written and read again, as from the cache.
std::optional<ask::IndexedRecording> index_of(session::Session& session, std::size_t spacing,
                                              const std::shared_ptr<ask::CallStore>& calls) {
  session::Parts* const parts = session::parts_of(session);
  if (parts == nullptr) return std::nullopt;
  auto index = ask::Index::build(session, *parts, spacing, {}, calls.get());
  if (!index) return std::nullopt;
  const ask::Index::Bytes bytes = index->write();
  auto read = ask::Index::read(bytes.starts, session.queues().size(), [=] { return bytes.ran; });
  if (!read || read->segments().size() != index->segments().size()) return std::nullopt;
  return ask::IndexedRecording{parts, std::move(*read), calls};
}

// A moment of the thread: behind any branch, and any instructions that were executed there.
ask::Moment random_moment(const ask::ThreadId& id, const Thread& thread, std::mt19937_64& random) {
  ask::Moment out{.thread = id, .branch = random() % (thread.branches.size() + 1)};
  if (out.branch == thread.branches.size() || out.branch == 0) return out;
  const Branch& next = thread.branches[out.branch];
  const bool line = flow::line_behind(thread.branches[out.branch - 1]) != 0;
  if (line && next.insns > 1) out.insn = random() % next.insns;
  return out;
}

// An index that somebody has changed is refused, or answers something: nothing worse.
void spoil(session::Session& session, const ask::IndexedRecording& good, const Plain& plain,
           std::mt19937_64& random) {
  const ask::Index::Bytes bytes = good.index.write();
  std::size_t read = 0;
  for (int i = 0; i < 300; ++i) {
    ask::Index::Bytes bad = bytes;
    std::vector<std::uint8_t>& part = i % 2 == 0 ? bad.starts : bad.ran;
    for (std::uint64_t n = 1 + random() % 3; n > 0; --n) {
      part[random() % part.size()] = static_cast<std::uint8_t>(random());
    }
    if (i % 10 < 2) part.resize(random() % part.size());
    auto index = ask::Index::read(bad.starts, session.queues().size(), [=] { return bad.ran; });
    if (!index || index->segments().empty()) continue;
    ++read;
    const ask::IndexedRecording spoilt{good.parts, std::move(*index)};
    for (std::size_t n = 0; n < spoilt.index.segments().size(); ++n) {
      const ask::Ran& ran = spoilt.index.ran(n);
      const bool known =
          ran.callees.empty() || ran.callees.back().callee < spoilt.index.callees().size();
      const bool in_code =
          ran.granules.empty() || ran.granules.back() < spoilt.index.granules().size();
      if (known && in_code) continue;
      fmt::print("a spoilt index has what it has no name for\n");
      std::exit(1);
    }
    for (const auto& [id, thread] : plain.threads) {
      const ask::Moment at{id, thread.branches.size() / 2, 0};
      (void)ask::scene_at(session, at, {.before = 4, .after = 4, .reach = 64, .index = &spoilt});
      if (i % 4 == 0) (void)ask::last_moments(session, {}, nullptr, &spoilt);
    }
  }
  fmt::print("{} of 300 spoilt indices were taken\n", read);
}

// Segments whose changes go back to no other.
std::size_t whole_segments(const ask::Index& index) {
  std::size_t out = 0;
  for (std::size_t i = 0; i < index.segments().size(); ++i) out += index.whole_before(i) == i;
  return out;
}

// Where threads end and where they are at some times, by the index and without.
void check_finding(session::Session& session, const ask::IndexedRecording& index,
                   const Plain& plain) {
  const auto fail = [](const char* what) {
    fmt::print("{} differ with the index\n", what);
    std::exit(1);
  };
  const auto a = ask::last_moments(session, {}, nullptr, &index);
  const auto b = ask::last_moments(session, {});
  if (!a || !b || a->size() != b->size()) fail("last moments");
  for (std::size_t i = 0; i < a->size(); ++i) {
    if ((*a)[i].moment != (*b)[i].moment || !same((*a)[i].last, (*b)[i].last)) fail("last moments");
  }
  session::Clock clock = session.clock();
  for (const auto& [id, thread] : plain.threads) {
    for (const std::size_t part : {1, 3, 7}) {
      const std::uint64_t time =
          clock.nanoseconds(thread.branches[thread.branches.size() * part / 8].time);
      const auto x = ask::moments_at(session, time, {}, &index);
      const auto y = ask::moments_at(session, time, {});
      if (!x || !y || x->size() != y->size()) fail("moments in time");
      for (std::size_t i = 0; i < x->size(); ++i) {
        if ((*x)[i].moment != (*y)[i].moment || (*x)[i].time != (*y)[i].time) {
          fail("moments in time");
        }
      }
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4 && argc != 5) return 2;
  auto session = session::Session::open({.path = argv[1]});
  if (!session) return fmt::print("{}\n", session.error().message), 2;
  Plain plain;
  bool by_time = false;
  for (const auto& queue : (*session)->queues()) by_time |= queue.cpu >= 0 && queue.tid < 0;
  auto outcome = by_time ? session::decode_by_time(**session, {}, plain)
                         : (*session)->decode({.threads = 1}, plain);
  if (!outcome || plain.threads.empty()) return fmt::print("nothing was decoded\n"), 2;
  std::mt19937_64 random(std::strtoull(argv[3], nullptr, 10));
  const auto count = std::strtoull(argv[2], nullptr, 10);
  std::optional<ask::IndexedRecording> index;
  const auto kept = std::make_shared<CallsInMemory>();
  if (argc == 5) index = index_of(**session, std::strtoull(argv[4], nullptr, 10), kept);
  if (argc == 5 && !index) return fmt::print("no index\n"), 1;
  for (const unsigned threads : {1, 3}) {
    if (!index) break;
    const auto what =
        difference_one_by_one(**session, std::strtoull(argv[4], nullptr, 10), threads);
    if (!what.empty()) return fmt::print("calls that were followed: {}\n", what), 1;
  }
  for (const unsigned threads : {1, 3}) {
    const auto what = difference_in_call_tree(**session, threads);
    if (!what.empty()) return fmt::print("call tree: {}\n", what), 1;
  }
  Checker checker(**session, plain, index ? &*index : nullptr);
  for (std::uint64_t i = 0; i < count; ++i) {
    auto it = plain.threads.begin();
    std::advance(it, static_cast<std::ptrdiff_t>(i % plain.threads.size()));
    checker.check(random_moment(it->first, it->second, random));
  }
  if (index) {
    check_finding(**session, *index, plain);
    fmt::print("{} answers\n", check_questions(**session, *index, *kept, plain.threads, random));
    fmt::print("rows of calls were kept {} times\n", kept->stored);
    spoil(**session, *index, plain, random);
  }
  fmt::print("{} moments of {} threads, {} steps, {} segments, {} of them whole\n", count,
             plain.threads.size(), checker.steps_checked,
             index ? index->index.segments().size() : 0, index ? whole_segments(index->index) : 0);
  return checker.steps_checked == 0 && count > 10 ? 1 : 0;
}
