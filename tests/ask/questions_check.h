// Holds what is answered with an index against what a walk from front to back says.
#pragma once

#include <map>
#include <random>
#include <vector>

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

// Calls, ends, lines and addresses that ran, lists of calls, and windows: some of each. Ends the
// program at the first difference; gives how many were asked.
std::size_t check_questions(session::Session& session, const ask::IndexedRecording& index,
                            const Threads& threads, std::mt19937_64& random);

}  // namespace hodo
