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

Thread* Thread::start(int connection, relay::Start how, std::int32_t parent_pid,
                      std::int32_t parent_tid, const Guest& guest) {
  relay::Hello hello;
  hello.pid = getpid();
  hello.tid = gettid();
  hello.parent_pid = parent_pid;
  hello.parent_tid = parent_tid;
  hello.start = how;
  hello.bits = guest.wide() ? 64 : 32;
  hello.time = relay::now();
  prctl(PR_GET_NAME, hello.comm.data());
  auto channel = relay::open_channel(connection, hello);
  if (!channel) return nullptr;
  auto* thread = new Thread(std::move(*channel), hello.tid, guest);
  thread->tracer_ =
      relay::start_tracer(thread->channel_, guest.wide() ? isa::Mode::bits64 : isa::Mode::bits32,
                          {.interrupted = &Thread::interrupted, .owner = thread}, &relay::now);
  return thread;
}

Thread::~Thread() = default;

bool Thread::interrupted(void* self, const unit::Block& b, std::uint64_t& ip, bool& faulted) {
  const auto* thread = static_cast<Thread*>(self);
  return find_interrupted_ip(thread->guest_, b.start, ip, faulted);
}

bool Thread::send(relay::RecordType type, std::span<const std::uint8_t> fixed,
                  std::span<const std::uint8_t> payload, std::uint16_t flags) {
  relay::RecordHeader header;
  header.type = type;
  header.flags = flags;
  header.tid = tid_;
  header.time = relay::now();
  return channel_.write_record(header, fixed, payload);
}

void Thread::report_name() {
  std::array<char, 16> name{};
  prctl(PR_GET_NAME, name.data());
  send(relay::RecordType::comm, {},
       {reinterpret_cast<const std::uint8_t*>(name.data()), strnlen(name.data(), name.size())});
}

void Thread::send_code(relay::RecordType type, std::span<const std::uint8_t> fixed,
                       std::span<const std::uint8_t> payload) {
  tracer_->before_new_code();
  send(type, fixed, payload);
  tracer_->after_new_code();
}

void Thread::close() {
  tracer_->publish();
  channel_.close();
}

void Thread::leave() {
  tracer_->publish();
  channel_.leave(true);
}

void Thread::give_up() {
  tracer_->publish();
  channel_.give_up();
}

}  // namespace hodo::plugin
