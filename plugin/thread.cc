#include "thread.h"

#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "hodo/relay/clock.h"
#include "signals.h"

namespace hodo::plugin {
namespace {

// How long a full buffer may hold the program up before packets are dropped instead. Long enough
// for any recorder that is alive and not stopped.
constexpr unsigned kPatienceMs = 10'000;

}  // namespace

Thread* Thread::start(const std::string& socket, relay::Start how, std::int32_t parent_pid,
                      std::int32_t parent_tid, unsigned vcpu, const Guest& guest) {
  relay::Hello hello;
  hello.pid = getpid();
  hello.tid = gettid();
  hello.parent_pid = parent_pid;
  hello.parent_tid = parent_tid;
  hello.start = how;
  hello.bits = guest.wide() ? 64 : 32;
  hello.time = relay::now();
  prctl(PR_GET_NAME, hello.comm.data());
  auto memory = relay::connect_channel(socket, hello);
  if (!memory) return nullptr;
  auto* thread = new Thread(std::move(*memory), hello.tid, vcpu, guest);
  unit::PtOutput output;
  output.base = thread->memory_.aux();
  output.size = thread->memory_.aux_size();
  output.owner = thread;
  output.reserve = &Thread::reserve;
  output.interrupted = &Thread::interrupted;
  thread->unit().start(thread->settings().rtit_ctl,
                       guest.wide() ? isa::Mode::bits64 : isa::Mode::bits32, output, &relay::now);
  return thread;
}

Thread::~Thread() = default;

std::uint64_t Thread::reserve(void* self, std::uint64_t written) {
  auto* thread = static_cast<Thread*>(self);
  if (thread->memory_.header().stop.load(std::memory_order_relaxed) != 0) {
    thread->unit().stop();
    return relay::publish_aux(thread->memory_, thread->unit().written(), 0);
  }
  // After a loss, do not wait again at every block; go on as soon as there is room.
  const bool lossy = thread->unit().overflows() != thread->overflows_seen_;
  const std::uint64_t room = relay::publish_aux(thread->memory_, written, lossy ? 0 : kPatienceMs);
  if (room >= thread->memory_.aux_size() / 4) thread->overflows_seen_ = thread->unit().overflows();
  return room;
}

bool Thread::interrupted(void* self, const unit::Block& b, std::uint64_t& ip, bool& faulted) {
  const auto* thread = static_cast<Thread*>(self);
  return find_interrupted_ip(thread->guest_, thread->vcpu_, b.start, ip, faulted);
}

bool Thread::send(relay::RecordType type, std::span<const std::uint8_t> fixed,
                  std::span<const std::uint8_t> payload, std::uint16_t flags) {
  relay::RecordHeader header;
  header.type = type;
  header.flags = flags;
  header.tid = tid_;
  header.time = relay::now();
  return relay::write_record(memory_, header, fixed, payload);
}

void Thread::report_name() {
  std::array<char, 16> name{};
  prctl(PR_GET_NAME, name.data());
  send(relay::RecordType::comm, {},
       {reinterpret_cast<const std::uint8_t*>(name.data()), strnlen(name.data(), name.size())});
}

void Thread::publish() { relay::publish_aux(memory_, unit().written(), 0); }

void Thread::close() {
  publish();
  memory_.header().state.store(relay::ChannelState::closed, std::memory_order_release);
}

}  // namespace hodo::plugin
