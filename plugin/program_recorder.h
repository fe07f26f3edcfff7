// What the parts of the recording plugin share: what is recorded of this process, and the unit of
// each of its threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "areas.h"
#include "blocks.h"
#include "filters.h"
#include "guest.h"
#include "known_code.h"
#include "mappings.h"
#include "thread.h"

namespace hodo::plugin {

// What QEMU calls on the units of a recording's kind, and a unit that is off.
struct UnitCallbacks {
  using Callback = void (*)(unsigned vcpu, void* block);
  struct ByCode {
    Callback in_file = nullptr;
    Callback kept = nullptr;  // the recording has its bytes
  };
  ByCode enter;
  ByCode enter_counting;
  ByCode enter_stepped;
  Callback leave_filter = nullptr;
  void* (*make_off)() = nullptr;
};

struct Recorder {
  UnitCallbacks callbacks;
  std::string socket;
  relay::Key key{};
  std::string program;        // its file
  std::string comm;           // what the kernel would have called this process
  std::string plugin_option;  // what -plugin was given, for programs that this one executes
  Guest guest;
  Blocks blocks;
  Mappings mappings{guest};
  Areas areas;
  KnownCode known_code;
  std::atomic<std::uint64_t> code_sent = 0;  // versions of code
  Filters filters;
  std::mutex mutex;  // mappings, areas, known_code, filters, threads
  std::vector<Thread*> threads;
  std::atomic<int> alive = 1;  // threads of the program, also those that have not begun to run
  bool first_image = true;
  // Around fork(): who forks, and the child's connection.
  struct {
    std::int32_t pid = 0, tid = 0;
    int connection = -1;
  } fork;
};

extern Recorder* recorder;

// The unit of this thread, of the recording's kind; one that is off if the thread is not recorded;
// null before its first block.
extern constinit thread_local void* current_unit __attribute__((tls_model("initial-exec")));
extern constinit thread_local Thread* current_thread __attribute__((tls_model("initial-exec")));

template <class Record>
  requires std::is_trivially_copyable_v<Record>
std::span<const std::uint8_t> bytes_of(const Record& value) {
  return {reinterpret_cast<const std::uint8_t*>(&value), sizeof(value)};
}
inline std::span<const std::uint8_t> text_of(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

}  // namespace hodo::plugin
