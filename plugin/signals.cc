#include "signals.h"

#include <mutex>
#include <unordered_set>

namespace hodo::plugin {
namespace {

std::mutex handlers_mutex;
std::unordered_set<std::uint64_t> handlers;

}  // namespace

void add_signal_handler(std::uint64_t address) {
  const std::lock_guard lock(handlers_mutex);
  handlers.insert(address);
}

bool is_signal_handler(std::uint64_t address) {
  const std::lock_guard lock(handlers_mutex);
  return handlers.contains(address);
}

bool find_interrupted_ip(const Guest& guest, std::uint64_t handler, std::uint64_t& ip,
                         bool& faulted) {
  if (!is_signal_handler(handler)) return false;
  auto frame = guest.handler_frame();
  if (!frame) return false;
  for (int stacked = 0; stacked < 64 && is_signal_handler(frame->ip); ++stacked) {
    const auto below = guest.frame_at(frame->sp, frame->first_argument);
    if (!below) break;
    frame = below;
  }
  ip = frame->ip;
  faulted = frame->faulted;
  return true;
}

}  // namespace hodo::plugin
