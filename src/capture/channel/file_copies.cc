#include "file_copies.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <deque>
#include <fstream>
#include <mutex>
#include <sstream>
#include <system_error>
#include <thread>
#include <utility>

namespace hodo::capture {

// Of proc(5): ID PARENT MAJOR:MINOR ROOT PLACE OPTIONS [TAGS] - KIND SOURCE OPTIONS.
bool is_served(dev_t device, pid_t pid) {
  if (major(device) != 0) return false;
  const std::string wanted = fmt::format("0:{}", minor(device));
  std::ifstream mounts(fmt::format("/proc/{}/mountinfo", pid));
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream fields(line);
    std::string id, parent, number;
    if (!(fields >> id >> parent >> number) || number != wanted) continue;
    const std::size_t kind = line.find(" - ");
    return kind != line.npos && line.substr(kind + 3).starts_with("fuse");
  }
  return false;
}

struct FileCopies::Copy {
  struct Part {
    std::uint64_t begin, end;
  };
  Fd memory;
  std::uint64_t size = 0;   // of the file
  std::vector<Part> there;  // what of it has been copied
};

namespace {

Fd open_regular(const Fd& place, ino_t inode) {
  struct stat st{};
  if (!place || fstat(place.get(), &st) != 0) return {};
  if (!S_ISREG(st.st_mode) || st.st_ino != inode) return {};
  return Fd(open(fmt::format("/proc/self/fd/{}", place.get()).c_str(), O_RDONLY | O_CLOEXEC));
}

Fd open_source(FileCopies::Source& source) {
  if (source.file) return std::move(source.file);
  Fd file = open_regular(source.place, source.inode);
  for (std::size_t i = 0; i < source.paths.size() && !file; ++i) {
    file = open_regular(Fd(open(source.paths[i].c_str(), O_PATH | O_CLOEXEC)), source.inode);
  }
  return file;
}

bool copy_range(const Fd& from, const Fd& to, std::uint64_t offset, std::uint64_t size) {
  std::array<std::uint8_t, std::size_t{64} << 10> bytes{};
  for (std::uint64_t done = 0; done < size;) {
    const std::size_t wanted = std::min<std::uint64_t>(bytes.size(), size - done);
    const auto at = static_cast<off_t>(offset + done);
    const ssize_t got = pread(from.get(), bytes.data(), wanted, at);
    if (got <= 0) return false;
    if (pwrite(to.get(), bytes.data(), static_cast<std::size_t>(got), at) != got) return false;
    done += static_cast<std::uint64_t>(got);
  }
  return true;
}

}  // namespace

struct FileCopies::Queue {
  struct Job {
    std::shared_ptr<Copy> copy;  // null: to say so
    Source source;
    std::uint64_t offset = 0, size = 0;
    Fd waits;
  };

  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Job> jobs;  // the first one is being done
  bool begun = false;
  bool ends = false;
  // For the thread:
  std::uint64_t whole_left = kMostWhole, mapped_left = kMostMapped;

  bool has(const Copy& copy, std::uint64_t offset, std::uint64_t size) {
    const std::lock_guard lock(mutex);
    if (copy.there.empty()) return false;
    const std::uint64_t begin = std::min(offset, copy.size);
    const std::uint64_t end = begin + std::min(size, copy.size - begin);
    return std::ranges::any_of(
        copy.there, [&](const Copy::Part& part) { return part.begin <= begin && end <= part.end; });
  }

  void take(Job& job) {
    if (job.copy == nullptr) {
      const char done = 0;
      (void)send(job.waits.get(), &done, 1, MSG_NOSIGNAL);
    } else if (!has(*job.copy, job.offset, job.size)) {
      copy(job);
    }
  }

  void copy(Job& job) {
    const Fd file = open_source(job.source);
    // By no stat(), which only the user of such a file system may call.
    const off_t end = file ? lseek(file.get(), 0, SEEK_END) : -1;
    const Fd& memory = job.copy->memory;
    if (end < 0 || ftruncate(memory.get(), end) != 0) return;
    const auto size = static_cast<std::uint64_t>(end);
    Copy::Part part{0, size};
    if (size > whole_left) {
      part.begin = std::min(job.offset, size);
      part.end = part.begin + std::min(job.size, size - part.begin);
    }
    std::uint64_t& left = size > whole_left ? mapped_left : whole_left;
    if (part.end - part.begin > left) return;
    left -= part.end - part.begin;
    if (!copy_range(file, memory, part.begin, part.end - part.begin)) return;
    const std::lock_guard lock(mutex);
    job.copy->size = size;
    job.copy->there.push_back(part);
  }
};

FileCopies::FileCopies() : queue_(std::make_shared<Queue>()) {}

FileCopies::~FileCopies() {
  const std::lock_guard lock(queue_->mutex);
  queue_->ends = true;
  queue_->changed.notify_all();
}

std::shared_ptr<FileCopies::Copy> FileCopies::make() {
  Fd memory(memfd_create("hodo-file", MFD_CLOEXEC));
  if (!memory) return nullptr;
  auto copy = std::make_shared<Copy>();
  copy->memory = std::move(memory);
  return copy;
}

bool FileCopies::has(const Copy& copy, std::uint64_t offset, std::uint64_t size) const {
  return queue_->has(copy, offset, size);
}

int FileCopies::descriptor(const Copy& copy) { return copy.memory.get(); }

void FileCopies::work(const std::shared_ptr<Queue>& queue) {
  std::unique_lock lock(queue->mutex);
  while (true) {
    queue->changed.wait(lock, [&] { return queue->ends || !queue->jobs.empty(); });
    if (queue->ends) return;
    Queue::Job& job = queue->jobs.front();  // stays where it is
    lock.unlock();
    queue->take(job);
    lock.lock();
    queue->jobs.pop_front();
    queue->changed.notify_all();
  }
}

void FileCopies::fill(std::shared_ptr<Copy> copy, Source source, std::uint64_t offset,
                      std::uint64_t size) {
  const std::lock_guard lock(queue_->mutex);
  queue_->jobs.push_back({std::move(copy), std::move(source), offset, size, {}});
  begin(queue_);
}

void FileCopies::say_done(Fd socket) {
  const std::lock_guard lock(queue_->mutex);
  queue_->jobs.push_back({nullptr, {}, 0, 0, std::move(socket)});
  begin(queue_);
}

// What is first in it, which is locked.
void FileCopies::begin(const std::shared_ptr<Queue>& queue) {
  queue->changed.notify_all();
  if (std::exchange(queue->begun, true)) return;
  // Signals are for the others.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    std::thread(work, queue).detach();
  } catch (const std::system_error&) {  // as many run as may: nothing is copied now
    queue->begun = false;
    queue->jobs.clear();
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void FileCopies::wait(std::chrono::milliseconds most) const {
  std::unique_lock lock(queue_->mutex);
  queue_->changed.wait_for(lock, most, [&] { return queue_->jobs.empty(); });
}

}  // namespace hodo::capture
