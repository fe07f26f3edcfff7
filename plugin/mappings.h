// Which file's bytes the guest executes, found out when code is translated.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "guest.h"
#include "hodo/relay/protocol.h"

namespace hodo::plugin {

// A file as it is on disk, to hold executed bytes against.
class FileBytes {
 public:
  // Maps `path` if it still is the file that /proc/self/maps means; null otherwise.
  static std::shared_ptr<FileBytes> open(const std::string& path, std::uint64_t inode,
                                         std::uint32_t major, std::uint32_t minor);
  ~FileBytes();
  // Are these the bytes at `offset`?
  bool same(std::uint64_t offset, std::span<const std::uint8_t> bytes) const;

 private:
  const std::uint8_t* data_ = nullptr;
  std::size_t size_ = 0;
};

struct Mapping {
  relay::MapRecord where;           // guest addresses
  std::string path;                 // as /proc/self/maps has it; empty: anonymous
  std::shared_ptr<FileBytes> file;  // null: no file to compare with
  bool opened = false;              // `file` has been looked for
  bool reported = false;
  bool was_writable = false;  // the guest had the right to write to a part of it since
  std::uint64_t end() const { return where.start + where.length; }
  bool contains(std::uint64_t address) const { return address - where.start < where.length; }
};

// The guest's mappings, read from /proc/self/maps when an address is asked for that is not known,
// or after the guest has changed its mappings.
class Mappings {
 public:
  explicit Mappings(const Guest& guest) : guest_(guest) {}
  // Null if nothing is mapped there. The pointer holds until the next call.
  Mapping* find(std::uint64_t address);
  // Those that were reported and lie at least in part in [start, end), as far as is known without
  // looking again. The pointers hold until the next call of find().
  std::vector<Mapping*> reported_in(std::uint64_t start, std::uint64_t end);
  // The guest called mmap, munmap, mprotect or the like.
  void changed() { stale_ = true; }

 private:
  void rescan();

  const Guest& guest_;
  std::vector<Mapping> sorted_;
  bool stale_ = true;
};

}  // namespace hodo::plugin
