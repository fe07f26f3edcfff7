// A moment of a recording: a place on the path of one thread.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "hodo/base/result.h"
#include "hodo/session/sink.h"

namespace hodo::ask {

// Whose path: a thread by its number, or where nobody knows threads (a raw trace) a queue.
struct ThreadId {
  std::int32_t tid = -1;    // -1: `queue` says it
  std::uint32_t queue = 0;  // index in Session::queues()
  auto operator<=>(const ThreadId&) const = default;
};

ThreadId thread_of(const session::Context& context);

// So many branches of the thread have been executed, and so many instructions since the last of
// them: the next instruction is the one that the moment stands at. Branches are numbered from 1 as
// `hodo branches --tid` lists them, conditional ones that were not taken left out. So a moment
// depends on nothing but the recording: neither on how many threads decode nor on what was asked
// before.
struct Moment {
  ThreadId thread;
  std::uint64_t branch = 0;
  std::uint64_t insn = 0;
  auto operator<=>(const Moment&) const = default;
};

// "4242:1700", "4242:1700+3"; of a queue "q0:1700".
std::string to_string(const ThreadId& thread);
std::string to_string(const Moment& moment);

// What somebody may write for a moment.
struct MomentSpec {
  enum class Kind : std::uint8_t {
    position,  // 4242:1700+3
    time,      // 12.345678901 or time:NS
    crash,     // crash, crash:PID: where a process failed: took a signal, or exited so
    start,     // start, start:TID
    end,       // end, end:TID
    finding,   // finding:3, of `hodo check`
    call,      // call:parse#17
    ret,       // return:parse#17: behind its end
    line,      // line:foo.cc:42#2
    address    // at:0x401136#2, at:parse+0x10#2
  };
  Kind kind = Kind::position;
  Moment position;
  std::uint64_t time = 0;               // nanoseconds
  std::optional<std::int32_t> process;  // crash
  std::optional<ThreadId> thread;       // start, end
  std::string name;         // of a function, "libc.so.6!malloc"; of a source file; or a symbol
  std::uint64_t value = 0;  // a line; an address, or what is added to the symbol
  std::uint64_t count = 1;  // which one, from 1
};

// usage: what is no moment, with the forms that there are.
Result<MomentSpec> parse_moment(std::string_view text);

}  // namespace hodo::ask
