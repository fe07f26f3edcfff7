// Where something happens on the paths of a session's threads: calls and ends of a function, and
// executions of a source line or an address.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "hodo/analyze/call_tree.h"
#include "hodo/analyze/function_name.h"
#include "hodo/ask/index.h"
#include "hodo/ask/moment.h"
#include "hodo/ask/walk.h"

namespace hodo::ask {

struct Wanted {
  enum class Kind : std::uint8_t { call, ret, line, address };
  Kind kind = Kind::call;
  // A function; the end of a source file's path; or a symbol, empty where `value` is the address.
  std::string name;
  bool exact = false;       // of a function: the one that is called just so
  std::uint64_t value = 0;  // line; address, or what is added to the symbol's
};

// What a name stood for, to tell of it where it stood for nothing or for too much.
struct Meant {
  std::vector<std::string> functions;  // that were meant and seen, "name (object)"; raw
  std::size_t exact = 0;               // of those are called just as was written
  bool whole = false;                  // those are all in what is searched, told of or not
  std::vector<std::string> others;     // names that were not meant: what could be suggested
  std::vector<std::uint64_t> lines;    // lines with code in the files that were meant, in order
};

// The error for a name that stands for more than one function, of which `functions` are.
Error means_several(const std::string& name, std::vector<std::string> functions);

// False: enough.
using OnOccurrence = std::function<bool(const Moment&, const session::Context&)>;

// Where occurrences are looked for, for those who do not want them all.
struct Where {
  const IndexedRecording* index = nullptr;  // of the session
  // So many of the first need not be told; `passed` says how many were not.
  std::uint64_t pass = 0;
  std::uint64_t* passed = nullptr;
  // None is wanted whose moment has a smaller or a larger number of branches; some may be told.
  std::uint64_t from = 0;
  std::uint64_t to = ~std::uint64_t{0};
  // The last ones are wanted: stretches of the path may be told from the last to the first, each in
  // its order, until this says before one that it is enough. What is told of the decoding is of one
  // stretch then.
  std::function<bool()> enough;
};

// Tells every occurrence, those of a thread in their order, the threads as walk() has them.
// A call occurs where its first instruction is about to be executed, PLT stubs left out; a return
// behind it, also if an exception or longjmp left the call. A line is executed where the path comes
// to it from another line, by any way but a return: coming back from what it called goes on with
// it; or where it calls a function that begins in it, as one that calls itself may. Errors: as
// walk(); not_found for what means nothing in the whole session, with the nearest names in its
// message.
Result<session::Outcome> each_occurrence(session::Session& session, const Wanted& wanted,
                                         const WalkOptions& options, const OnOccurrence& tell,
                                         Meant& meant, const Where& where = {});

// As analyze::suggestion, for what is in a file's path; names without versions, "libc" for
// /lib/libc.so.6. If none is like it, "; what ran is ..." with some of them.
std::string module_suggestion(const std::string& written, const std::vector<std::string>& ran);

}  // namespace hodo::ask
