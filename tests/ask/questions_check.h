// Holds what is answered with an index against what a walk from front to back says.
#pragma once

#include <map>
#include <random>
#include <span>
#include <vector>

#include "hodo/ask/call_store.h"
#include "hodo/ask/index.h"
#include "hodo/ask/moment.h"
#include "hodo/session/session.h"

namespace hodo {

// What a thread executed.
struct Thread {
  std::vector<Branch> branches;
  std::vector<session::Context> who;
};
using Threads = std::map<ask::ThreadId, Thread>;

inline bool same(const Branch& a, const Branch& b) {
  return a.from == b.from && a.to == b.to && a.time == b.time && a.insns == b.insns &&
         a.kind == b.kind && a.flags == b.flags;
}

// Keeps all rows, and counts how often.
class CallsInMemory final : public ask::CallStore {
 public:
  std::optional<std::vector<std::uint8_t>> load() override { return bytes; }
  void store(std::span<const std::uint8_t> some) override {
    bytes.assign(some.begin(), some.end());
    ++stored;
  }
  std::size_t room() const override { return std::size_t{1} << 24; }
  std::size_t least_segments() const override { return 1; }

  std::vector<std::uint8_t> bytes;
  std::size_t stored = 0;
};

// Calls, ends, lines and addresses that ran, lists of calls, and windows: some of each. Ends the
// program at the first difference; gives how many were asked. `kept` is the index's.
std::size_t check_questions(session::Session& session, const ask::IndexedRecording& index,
                            CallsInMemory& kept, const Threads& threads, std::mt19937_64& random);

}  // namespace hodo
