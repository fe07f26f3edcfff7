// What hodo's own recorder wrote about a recording: feature section 255 (docs/file-format.md).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "hodo/perfdata/model.h"
#include "hodo/session/ends.h"

namespace hodo::session {

// A cause of losses: the program wrote over the memory that its trace was handed over in.
namespace causes {
inline constexpr std::string_view kChannelOverwritten = "channel-overwritten";
}

// The program wrote over the memory that this thread's trace was handed over in.
struct OverwrittenChannel {
  std::int32_t pid = -1, tid = -1;
  std::uint64_t offset = 0;  // where what can be trusted ends, in the thread's stream
  std::uint64_t time = 0;    // ns
  std::string what;          // was found
};

struct RecorderFacts {
  bool readable = true;                 // false: there are some, and nobody knows which
  std::string source;                   // "qemu", "qemu-system", "kvm", ...
  bool snapshot = false;                // only the newest part was to be kept
  std::vector<std::string> unrecorded;  // what the recorder knows to be missing, each a line
  std::vector<OverwrittenChannel> overwritten;
  std::vector<ProcessEnd> ends;
  std::vector<ProcessEnd> thread_ends;
};

// Empty where the recorder was another one, or did not finish.
RecorderFacts recorder_facts(const perfdata::FileFacts& facts);

// The processes are those of a virtual machine, so that their numbers and paths mean nothing here.
bool of_guest(const perfdata::Model& recording);

}  // namespace hodo::session
