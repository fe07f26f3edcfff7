// Every call of a function, one by one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hodo/analyze/open_calls.h"
#include "hodo/ask/index.h"
#include "hodo/ask/moment.h"
#include "hodo/ask/walk.h"

namespace hodo::ask {

struct CallRow {
  enum class Outcome : std::uint8_t {
    returned,
    skipped,   // left by an exception or longjmp
    lost,      // the path was lost meanwhile
    replaced,  // another program took its place
    open       // the path ends in it
  };
  std::uint64_t number = 0;  // as in call:NAME#N
  Moment at;                 // before the first instruction
  Moment until;              // behind the end, or where the thread's path ends
  std::int32_t pid = -1;
  std::uint64_t time = 0;          // of the beginning, nanoseconds; 0: unknown
  std::uint64_t duration = 0;      // nanoseconds
  std::uint64_t instructions = 0;  // with what it called
  std::uint32_t function = 0;      // in CallList::functions
  std::uint32_t caller = 0;        // the same; of a call without a known caller kNobody
  // Address of the call; of one that was inlined, of its entry; 0: unknown.
  std::uint64_t site = 0;
  std::uint32_t space = 0;  // for Names, with `ticks`
  std::uint64_t ticks = 0;
  Outcome outcome = Outcome::open;
  bool inlined =
      false;  // its code was put in the place of the call; `caller` is whose code it is in
};
inline constexpr std::uint32_t kNobody = ~std::uint32_t{0};
std::string_view name(CallRow::Outcome outcome);

// Which calls come first: in the order of their beginning, the last to begin, or the largest, of
// equals the first.
enum class CallOrder : std::uint8_t { order, latest, duration, instructions };
inline constexpr std::size_t kMostCallRows = std::size_t{1} << 20;

struct CallListOptions {
  WalkOptions walk;
  std::uint64_t slower_than = 0;  // only calls of at least so many nanoseconds
  CallOrder order = CallOrder::order;
  std::size_t most = kMostCallRows;         // rows that are kept, not 0: those that come first
  std::uint64_t only = 0;                   // the row of this number alone; 0: all
  const IndexedRecording* index = nullptr;  // of the session
  bool inlined = true;  // with the calls that debug information says were inlined
};

struct CallList {
  std::vector<analyze::Function> functions;
  std::vector<std::uint32_t> meant;  // those that the name stood for
  std::vector<CallRow> rows;         // in the order that was asked for
  std::uint64_t calls = 0;           // all of them, also those that are too fast to be listed
  std::uint64_t left_out = 0;        // that `most` has no room for
  std::uint64_t total_time = 0;
  std::uint64_t longest = 0;
  std::string unknown;  // as analyze::unknown_inlined()
  session::Outcome outcome;
};

// An inlined call begins and ends as InlinedFollower has it (inlined_follower.h), which with
// optimised code is as exact as the debug information. Errors: as walk(); not_found if there was no
// such call, with the nearest names.
Result<CallList> list_calls(session::Session& session, const std::string& name,
                            const CallListOptions& options);

// The call that is written as "parse#17", with or without "call:" in front. Errors: usage for what
// is no call; as list_calls(); not_found where there are not so many.
// `losses`, if any, gets what was lost where calls were counted.
Result<CallRow> find_call(session::Session& session, const std::string& written,
                          const WalkOptions& options, const IndexedRecording* index = nullptr,
                          std::vector<session::LossLine>* losses = nullptr);

}  // namespace hodo::ask
