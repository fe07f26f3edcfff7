// A kernel with Intel PT, as far as hodoscope sees it: events are bookkeeping, rings are plain
// memory, and a thread per processor plays a script of records and trace bytes into them.
#pragma once

#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "fake_ring.h"
#include "hodo/capture/kernel.h"

namespace hodo::capture {

class FakeCpu;
using Script = std::function<void(FakeCpu&)>;

// One processor's trace event with its ring and AUX area. The script's calls return false once the
// recording is over.
class FakeCpu {
 public:
  FakeCpu(int cpu, pid_t pid, std::uint64_t id, int fd) : cpu_(cpu), pid_(pid), id_(id), fd_(fd) {}
  ~FakeCpu() { close(); }

  int cpu() const { return cpu_; }
  pid_t pid() const { return pid_; }

  // A kernel record with its sample id: {pid, tid, time, cpu, id}.
  bool record(std::uint32_t type, ByteVector body, std::uint16_t misc = 0) {
    body.resize((body.size() + 7) & ~std::size_t{7});
    append(body, static_cast<std::uint32_t>(pid_));
    append(body, static_cast<std::uint32_t>(pid_));
    append(body, time_ += 1000);
    append(body, static_cast<std::uint64_t>(cpu_));
    append(body, id_);
    return write(records_, make_record(type, body, misc));
  }
  // A sample: {id, ip, pid, tid, time, cpu} and a branch stack.
  bool sample(const std::vector<std::array<std::uint64_t, 3>>& entries) {
    ByteVector body;
    for (const std::uint64_t v : {id_, std::uint64_t{0x401000}}) append(body, v);
    for (int i = 0; i < 2; ++i) append(body, static_cast<std::uint32_t>(pid_));
    for (const std::uint64_t v : {time_ += 1000, static_cast<std::uint64_t>(cpu_)}) append(body, v);
    append(body, std::uint64_t{entries.size()});
    for (const auto& entry : entries) {
      for (const std::uint64_t v : entry) append(body, v);
    }
    return write(records_, make_record(PERF_RECORD_SAMPLE, body, PERF_RECORD_MISC_USER));
  }
  // Trace bytes, and the AUX record that announces them.
  bool trace(const ByteVector& bytes, std::uint64_t flags = 0) {
    const std::uint64_t offset = aux_->head();
    return write(aux_, bytes) && aux_record(offset, bytes.size(), flags);
  }
  bool aux_record(std::uint64_t offset, std::uint64_t size, std::uint64_t flags) {
    ByteVector body;
    for (const std::uint64_t v : {offset, size, flags}) append(body, v);
    return record(PERF_RECORD_AUX, body);
  }
  // Trace bytes in overwrite mode.
  bool overwrite(const ByteVector& bytes) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return enabled_ || closing_; });
    if (closing_) return false;
    aux_->overwrite(bytes);
    return true;
  }
  // As the driver does when the area is full: says so, and stops until it is enabled again.
  // `late`: it stops when hodo has taken everything and switched the event on already.
  bool truncate(bool late = false) {
    if (!aux_record(aux_->head(), 0, PERF_AUX_FLAG_TRUNCATED)) return false;
    while (late && !room(aux_size())) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (late) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    std::unique_lock lock(mutex_);
    enabled_ = false;
    changed_.wait(lock, [&] { return enabled_ || closing_; });
    return !closing_;
  }
  bool room(std::size_t size) {
    const std::lock_guard lock(mutex_);
    const std::uint64_t tail = std::atomic_ref(page_->aux_tail).load(std::memory_order_acquire);
    return aux_area_.size() - (aux_->head() - tail) >= size;
  }
  std::size_t aux_size() const { return aux_area_.size(); }

  // The kernel's side.
  void attach_ring(std::span<std::uint8_t> memory, std::size_t page_size) {
    page_ = reinterpret_cast<perf_event_mmap_page*>(memory.data());
    page_->cap_user_time_zero = 1;
    page_->time_shift = 10;
    page_->time_mult = 512;
    page_->time_zero = 5000;
    records_.emplace(&page_->data_head, &page_->data_tail, memory.subspan(page_size));
  }
  void attach_aux(std::span<std::uint8_t> memory) {
    aux_area_ = memory;
    aux_.emplace(&page_->aux_head, &page_->aux_tail, memory);
  }
  void play(const Script& script) {
    thread_ = std::thread([this, script] { script(*this); });
  }
  void set_enabled(bool enabled) {
    const std::lock_guard lock(mutex_);
    enabled_ = enabled;
    eventfd_t ignored;
    if (enabled) ::eventfd_read(fd_, &ignored);
    changed_.notify_all();
  }
  void close() {
    {
      const std::lock_guard lock(mutex_);
      closing_ = true;
      changed_.notify_all();
    }
    if (thread_.joinable()) thread_.join();
  }

 private:
  // Waits for room as long as the recording goes on.
  bool write(std::optional<RingWriter>& ring, const ByteVector& bytes) {
    for (;;) {
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return enabled_ || closing_; });
        if (closing_) return false;
        if (ring->write(bytes)) {
          ::eventfd_write(fd_, 1);
          return true;
        }
      }
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }

  int cpu_;
  pid_t pid_;
  std::uint64_t id_;
  int fd_;
  std::uint64_t time_ = 1'000'000;
  perf_event_mmap_page* page_ = nullptr;
  std::span<std::uint8_t> aux_area_;
  std::optional<RingWriter> records_;
  std::optional<RingWriter> aux_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool enabled_ = true;  // as after exec
  bool closing_ = false;
  std::thread thread_;
};

class FakeKernel final : public Kernel {
 public:
  struct Opened {
    perf_event_attr attr;
    pid_t pid;
    int cpu;
  };

  // Knobs.
  std::map<int, Script> scripts;                                               // by processor
  std::map<pid_t, Script> thread_scripts;                                      // of cpu -1
  std::function<int(const Opened&)> refuse = [](const Opened&) { return 0; };  // errno or 0
  std::size_t most_memory = ~std::size_t{0};  // of one mapping; larger ones are EPERM
  int refuse_filter = 0;
  int refuse_switch = 0;

  // What happened.
  std::vector<Opened> opened;
  std::vector<std::string> filters;
  std::vector<std::size_t> aux_sizes;
  std::vector<bool> aux_writable;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> joined;  // events, and whose ring
  std::map<std::uint64_t, bool> switched;                       // by event, when last

  KernelResult<Fd> open_event(const perf_event_attr& attr, pid_t pid, int cpu) override {
    const Opened event{attr, pid, cpu};
    if (const int reason = refuse(event); reason != 0) return std::unexpected(reason);
    opened.push_back(event);
    Fd fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    ids_[fd.get()] = 100 + opened.size();
    if (attr.type != PERF_TYPE_SOFTWARE) {
      cpus_[fd.get()] = std::make_unique<FakeCpu>(cpu, pid, ids_[fd.get()], fd.get());
    }
    return fd;
  }

  KernelResult<std::span<std::uint8_t>> map(int fd, std::size_t size, std::uint64_t offset,
                                            bool writable) override {
    if (size > most_memory) return std::unexpected(EPERM);
    void* at = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const std::span memory(static_cast<std::uint8_t*>(at), size);
    if (offset == 0) {
      cpus_.at(fd)->attach_ring(memory, static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)));
    } else {
      cpus_.at(fd)->attach_aux(memory);
      aux_sizes.push_back(size);
      aux_writable.push_back(writable);
    }
    owners_[memory.data()] = fd;
    return memory;
  }
  void unmap(std::span<std::uint8_t> memory) override {
    cpus_.at(owners_.at(memory.data()))->close();
    ::munmap(memory.data(), memory.size());
  }

  KernelResult<std::uint64_t> event_id(int fd) override { return ids_.at(fd); }
  KernelResult<void> enable(int fd) override { return switch_event(fd, true); }
  KernelResult<void> disable(int fd) override { return switch_event(fd, false); }
  KernelResult<void> set_output(int fd, int ring_fd) override {
    FakeCpu& cpu = *cpus_.at(ring_fd);
    joined.push_back({ids_.at(fd), ids_.at(ring_fd)});
    if (!playing_.insert(ring_fd).second) return {};
    if (cpu.cpu() < 0) {
      const auto script = thread_scripts.find(cpu.pid());
      if (script != thread_scripts.end()) cpu.play(script->second);
      return {};
    }
    const auto script = scripts.find(cpu.cpu());
    if (script != scripts.end()) cpu.play(script->second);
    return {};
  }
  KernelResult<void> set_filter(int, const char* text) override {
    filters.emplace_back(text);
    if (refuse_filter != 0) return std::unexpected(refuse_filter);
    return {};
  }

 private:
  KernelResult<void> switch_event(int fd, bool on) {
    if (refuse_switch != 0) return std::unexpected(refuse_switch);
    switched[ids_.at(fd)] = on;
    const auto cpu = cpus_.find(fd);
    if (cpu != cpus_.end()) cpu->second->set_enabled(on);
    return {};
  }

  std::map<int, std::uint64_t> ids_;
  std::set<int> playing_;
  std::map<int, std::unique_ptr<FakeCpu>> cpus_;
  std::map<std::uint8_t*, int> owners_;
};

}  // namespace hodo::capture
