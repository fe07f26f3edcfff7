// Copies of files that a process serves (FUSE: AppImages, sshfs). That process often ends with the
// program, and may be recorded itself and wait for the recorder: nobody but a thread of their own
// touches such files, and nobody waits for it for long.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "hodo/capture/fd.h"

namespace hodo::capture {

// Whether a file system is of that kind, as process `pid` has it mounted.
bool is_served(dev_t device, pid_t pid);

class FileCopies {
 public:
  // Bytes of files that are copied as a whole; of others what is mapped, of all together.
  static constexpr std::uint64_t kMostWhole = std::uint64_t{48} << 20;
  static constexpr std::uint64_t kMostMapped = std::uint64_t{256} << 20;

  // The file, or what it is to be found by: the first way that leads to `inode`.
  struct Source {
    Fd file = {};
    Fd place = {};  // O_PATH, or invalid
    std::vector<std::string> paths = {};
    ino_t inode = 0;
  };
  struct Copy;

  FileCopies();
  ~FileCopies();
  FileCopies(const FileCopies&) = delete;
  FileCopies& operator=(const FileCopies&) = delete;

  // In memory that has the file's size once something of it is there; null: there is none.
  std::shared_ptr<Copy> make();
  static int descriptor(const Copy& copy);
  // Whether it has this part of the file, as far as there is one.
  bool has(const Copy& copy, std::uint64_t offset, std::uint64_t size) const;
  bool is_whole(const Copy& copy) const { return has(copy, 0, ~std::uint64_t{0}); }
  // All of it from now on, or as much as is mapped, as soon as it can be had.
  void fill(std::shared_ptr<Copy> copy, Source source, std::uint64_t offset, std::uint64_t size);
  // A byte to who waits there, once all is done that was asked for until now.
  void say_done(Fd socket);
  // Until all is done that was asked for, but no longer. Nothing is open then.
  void wait(std::chrono::milliseconds most) const;

 private:
  struct Queue;
  static void work(const std::shared_ptr<Queue>& queue);
  static void begin(const std::shared_ptr<Queue>& queue);

  std::shared_ptr<Queue> queue_;
};

}  // namespace hodo::capture
