#include "questions_check.h"

#include <fmt/format.h>

#include <cstdlib>
#include <set>
#include <string>
#include <utility>

#include "hodo/ask/calls.h"
#include "hodo/ask/find.h"
#include "hodo/ask/navigate.h"
#include "hodo/ask/occurrences.h"
#include "hodo/ask/window.h"

namespace hodo {
namespace {

constexpr std::size_t kFunctions = 3;
constexpr int kPlaces = 2;
constexpr int kSpoilt = 20;

class Questions {
 public:
  Questions(session::Session& session, const ask::IndexedRecording& index, CallsInMemory& kept,
            const Threads& threads, std::mt19937_64& random)
      : session_(session), index_(index), kept_(kept), threads_(threads), random_(random) {}

  std::size_t ask_all() {
    for (const std::string& name : some_functions()) {
      occurrences({.kind = ask::Wanted::Kind::call, .name = name});
      occurrences({.kind = ask::Wanted::Kind::ret, .name = name});
      list(name);
      for (const char* form : {"call", "return"}) {
        moment(fmt::format("{}:{}#{}", form, name, 1 + random_() % 50));
      }
    }
    for (int i = 0; i < kPlaces; ++i) {
      const auto [id, at] = somewhere();
      const Branch& branch = threads_.at(id).branches[at];
      const session::Context& who = threads_.at(id).who[at];
      if (branch.to == 0) continue;
      occurrences({.kind = ask::Wanted::Kind::address, .value = branch.to});
      moment(fmt::format("at:{:#x}#{}", branch.to, 1 + random_() % 50));
      const auto source =
          session::source_of(session_.names().object(who.space, branch.to, branch.time));
      if (source.empty() || source[0].line == 0) continue;
      occurrences(
          {.kind = ask::Wanted::Kind::line, .name = source[0].file, .value = source[0].line});
    }
    for (int i = 0; i < kPlaces; ++i) windows();
    for (const char* word : {"call:no_such_function", "line:no_such.cc:3", "at:no_such_symbol"}) {
      moment(word);
    }
    must(2 * decoded_again_ <= asked_again_, "most lists");
    must(lists_of_made_ <= 2 * made_, "most lists of rows that were made");
    return asked_;
  }

 private:
  void must(bool is, const std::string& what) {
    ++asked_;
    if (is) return;
    fmt::print("{}: another answer with the index\n", what);
    std::exit(1);
  }

  std::pair<ask::ThreadId, std::size_t> somewhere() {
    auto it = threads_.begin();
    std::advance(it, static_cast<std::ptrdiff_t>(random_() % threads_.size()));
    return {it->first, random_() % it->second.branches.size()};
  }

  std::vector<std::string> some_functions() {
    std::set<std::string> all;
    for (const auto& [id, thread] : threads_) {
      analyze::Following following(session_.names(), session_.clock());
      analyze::OpenCalls calls(following, nullptr);
      for (std::size_t i = 0; i < thread.branches.size(); ++i) {
        calls.branch(thread.who[i].space, thread.branches[i]);
      }
      for (const analyze::Function& f : following.functions()) all.insert(f.name);
    }
    std::vector<std::string> out(all.begin(), all.end());
    std::shuffle(out.begin(), out.end(), random_);
    if (out.size() > kFunctions) out.resize(kFunctions);
    out.emplace_back("main");
    return out;
  }

  std::vector<ask::Moment> moments_of(const ask::Wanted& wanted, const ask::Where& where) {
    std::vector<ask::Moment> out;
    ask::Meant meant;
    (void)ask::each_occurrence(
        session_, wanted, {},
        [&](const ask::Moment& at, const session::Context&) {
          out.push_back(at);
          return true;
        },
        meant, where);
    return out;
  }

  void occurrences(const ask::Wanted& wanted) {
    const auto plain = moments_of(wanted, {});
    must(moments_of(wanted, {.index = &index_.get()}) == plain, wanted.name);
    const auto [id, at] = somewhere();
    const ask::Moment from{id, at, 0};
    for (const bool forward : {true, false}) {
      const auto a = ask::occurrence_from(session_, from, wanted, forward);
      const auto b = ask::occurrence_from(session_, from, wanted, forward, {}, &index_.get());
      must(a.has_value() == b.has_value() && (!a || *a == *b),
           fmt::format("{} {} {}, {} and {}", wanted.name, forward ? "after" : "before",
                       to_string(from), a ? to_string(*a) : a.error().message,
                       b ? to_string(*b) : b.error().message));
    }
  }

  void moment(const std::string& written) {
    const auto a = ask::find_moment(session_, written, {});
    const auto b = ask::find_moment(session_, written, {.index = &index_.get()});
    const bool same =
        a.has_value() == b.has_value() && (a ? *a == *b : a.error().code == b.error().code);
    must(same, written);
    // What is suggested may differ: the index has no names of stubs.
    const auto told = [](const auto& r) {
      return r.error().message.substr(0, r.error().message.find(';'));
    };
    if (!a) must(told(a) == told(b), fmt::format("{}: '{}', '{}'", written, told(a), told(b)));
  }

  static auto fields(const ask::CallRow& row, const ask::CallList& list) {
    const auto name = [&](std::uint32_t f) {
      return f == ask::kNobody ? std::string() : list.functions[f].name;
    };
    return std::tuple(row.number, row.at, row.until, row.pid, row.time, row.duration,
                      row.instructions, row.site, row.space, row.ticks, row.outcome,
                      name(row.function), name(row.caller));
  }

  void same_list(const std::string& what, const Result<ask::CallList>& a,
                 const Result<ask::CallList>& b) {
    must(a.has_value() == b.has_value(), what);
    if (!a) return;
    must(a->calls == b->calls && a->rows.size() == b->rows.size(), what);
    must(a->total_time == b->total_time && a->longest == b->longest, what);
    must(a->meant.size() == b->meant.size() && a->left_out == b->left_out, what);
    for (std::size_t i = 0; i < a->rows.size(); ++i) {
      must(fields(a->rows[i], *a) == fields(b->rows[i], *b),
           fmt::format("{}, number {}", what, i + 1));
    }
  }

  void list(const std::string& name) {
    const auto a = ask::list_calls(session_, name, {});
    const ask::CallListOptions indexed{.index = &index_.get()};
    made(name, indexed, a);
    // As if they were too many to be kept with the index.
    const auto made_rows = std::exchange(kept_.files[ask::CallStore::kOfIndex], std::nullopt);
    const auto b = ask::list_calls(session_, name, indexed);
    same_list("list " + name, a, b);
    if (a && kept_.stored != 0) kept(name, indexed, *b);
    kept_.files[ask::CallStore::kOfIndex] = made_rows;
    if (!a) return;
    const std::string call = fmt::format("{}#{}", name, 1 + random_() % a->calls);
    const auto x = ask::find_call(session_, call, {});
    const auto y = ask::find_call(session_, call, {}, &index_.get());
    must(x.has_value() == y.has_value() && (!x || (x->at == y->at && x->until == y->until)), call);
  }

  // Rows that were made with the index.
  void made(const std::string& name, const ask::CallListOptions& indexed,
            const Result<ask::CallList>& plain) {
    const auto& made_rows = kept_.files[ask::CallStore::kOfIndex];
    if (!made_rows) return;
    const std::size_t stored = kept_.stored;
    same_list("list made rows of " + name, plain, ask::list_calls(session_, name, indexed));
    if (plain) ++lists_of_made_;
    if (plain && kept_.stored == stored) ++made_;
    spoil(ask::CallStore::kOfIndex, name, indexed);
  }

  void spoil(unsigned file, const std::string& name, const ask::CallListOptions& indexed) {
    if (!kept_.files[file]) return;
    const auto all = kept_.files;
    for (int i = 0; i < kSpoilt; ++i) {
      CallsInMemory::Kept& some = *kept_.files[file];
      const bool head = some.parts.empty() || random_() % 2 == 0;
      CallsInMemory::Bytes& bytes = head ? some.head : some.parts[random_() % some.parts.size()];
      bytes[random_() % bytes.size()] = static_cast<std::uint8_t>(random_());
      if (i % 4 == 0) bytes.resize(random_() % bytes.size());
      (void)ask::list_calls(session_, name, indexed);
      kept_.files = all;
    }
  }

  // What the question has left answers it the next time, also another way of asking it.
  void kept(const std::string& name, const ask::CallListOptions& indexed,
            const ask::CallList& first) {
    const std::size_t stored = kept_.stored;
    same_list("list again " + name, first, ask::list_calls(session_, name, indexed));
    const auto slow = [&](const ask::IndexedRecording* index) {
      return ask::list_calls(session_, name,
                             {.slower_than = first.longest / 2, .most = 3, .index = index});
    };
    same_list("list the slow ones again " + name, slow(nullptr), slow(&index_.get()));
    // Rows are not kept of a function that became another on the way, as the dynamic linker's.
    if (kept_.stored != stored) ++decoded_again_;
    ++asked_again_;
    for (unsigned i = 0; i < ask::CallStore::kFiles; ++i) spoil(i, name, indexed);
  }

  class Gather final : public session::BranchSink {
   public:
    bool branches(const session::Context& who, std::span<const Branch> batch) override {
      auto& out = all[ask::thread_of(who)];
      out.insert(out.end(), batch.begin(), batch.end());
      return true;
    }
    std::map<ask::ThreadId, std::vector<Branch>> all;
  };

  void window(const ask::Window& wanted, const std::string& what) {
    for (const bool not_taken : {false, true}) {
      Gather a;
      Gather b;
      const ask::WalkOptions walk{.not_taken = not_taken};
      const auto x = ask::decode_window(session_, wanted, {.walk = walk, .mark_gaps = true}, a);
      const auto y = ask::decode_window(
          session_, wanted, {.walk = walk, .mark_gaps = true, .index = &index_.get()}, b);
      must(x && y && x->stats.instructions == y->stats.instructions, what);
      must(x->losses.size() == y->losses.size(), what + ", losses");
      must(a.all.size() == b.all.size(), what);
      for (const auto& [id, branches] : a.all) {
        must(std::ranges::equal(branches, b.all[id], same), what + " of " + to_string(id));
      }
    }
  }

  void windows() {
    const auto [id, at] = somewhere();
    const Thread& thread = threads_.at(id);
    const std::size_t end = at + random_() % (thread.branches.size() - at);
    window({.thread = id, .from = at, .to = end}, fmt::format("{} to {}", at, end));
    window({.last = 1 + random_() % 300}, "the last");
    session::Clock clock = session_.clock();
    const std::uint64_t from = clock.nanoseconds(thread.branches[at].time);
    const std::uint64_t to = clock.nanoseconds(thread.branches[end].time);
    window({.from_time = from, .to_time = to}, fmt::format("time {} to {}", from, to));
  }

  session::Session& session_;
  std::reference_wrapper<const ask::IndexedRecording> index_;
  CallsInMemory& kept_;
  const Threads& threads_;
  std::mt19937_64& random_;
  std::size_t asked_ = 0;
  std::size_t asked_again_ = 0;    // lists whose rows were kept,
  std::size_t decoded_again_ = 0;  // and that were decoded all the same
  std::size_t lists_of_made_ = 0;  // where there are rows that were made with the index,
  std::size_t made_ = 0;           // and that were answered with them
};

}  // namespace

std::size_t check_questions(session::Session& session, const ask::IndexedRecording& index,
                            CallsInMemory& kept, const Threads& threads, std::mt19937_64& random) {
  return Questions(session, index, kept, threads, random).ask_all();
}

}  // namespace hodo
