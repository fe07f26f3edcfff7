// Bytes with an identity, shared by every process and mapping that has them.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hodo/base/result.h"
#include "hodo/image/file.h"

namespace hodo::image {

// What contents may take together.
struct ContentBudget {
  const std::uint64_t limit;
  std::atomic<std::uint64_t> used{0};
};

// Bytes that never change once they can be seen. Files are copied into memory, not mapped: a
// mapping would follow later writes to the file and raise SIGBUS when it shrinks. Only what is
// asked for is read; of long ranges of a file, which then stays open, when somebody looks at it.
// Lives as long as somebody holds it.
class Content {
 public:
  Content(const Content&) = delete;
  Content& operator=(const Content&) = delete;

  // Unique among all contents of this process, never 0.
  std::uint64_t id() const { return id_; }
  std::uint64_t size() const { return size_; }
  // Why bytes could not be read that somebody looked at: the file was written meanwhile, say; empty
  // if all could. For any thread.
  std::string trouble() const;

 private:
  friend class ContentStore;
  friend struct Slice;
  // A file's is an anonymous mapping as large as the file, which takes memory only where something
  // is read into it; small pieces come from the heap, since the kernel limits the number of
  // mappings.
  struct Release {
    std::size_t mapped;  // bytes; 0: from the heap
    void operator()(std::uint8_t* data) const;
  };
  using Storage = std::unique_ptr<std::uint8_t, Release>;
  // How much of a file has been read.
  struct Reading {
    std::shared_ptr<ContentBudget> budget;
    std::vector<std::atomic<bool>> blocks;
    std::mutex mutex;
    std::optional<RegularFile> file;  // from before the first slice that is read later
    std::string trouble;

    bool has(std::uint64_t block) const { return blocks[block].load(std::memory_order_acquire); }
  };
  Content(Storage data, std::uint64_t size, std::unique_ptr<Reading> reading);
  static Storage reserve(std::size_t size);  // as operator new

  // Reads what of [offset, offset + length) has not been read, from the file that stays open or
  // `file`. Errors: as ContentStore::file.
  Status read(std::uint64_t offset, std::uint64_t length, const RegularFile* file = nullptr) const;
  Status read_block(std::uint64_t block, const RegularFile& file) const;

  const std::uint64_t id_;
  const Storage data_;
  const std::uint64_t size_;
  const std::unique_ptr<Reading> reading_;  // null: all is there
};

// A range of a content. Only ContentStore makes non-empty ones.
struct Slice {
  std::shared_ptr<const Content> content;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  bool later = false;  // its bytes are read when somebody looks at them

  // All of them; empty if they cannot be read, which content->trouble() tells.
  std::span<const std::uint8_t> bytes() const { return bytes(0, length); }

  struct Part {
    std::uint64_t first = 0;  // within the slice
    std::span<const std::uint8_t> bytes;
  };
  // Those around `at`, which is less than `length`: at least kAhead bytes from there on where the
  // slice has so many. Without bytes if they cannot be read. For any thread.
  static constexpr std::uint64_t kAhead = 4096;
  Part around(std::uint64_t at) const;

 private:
  std::span<const std::uint8_t> bytes(std::uint64_t first, std::uint64_t size) const;
};

// Makes contents and knows the ones it made: asking for the same file (device, inode, times, size)
// or for equal bytes gives the same content. Safe for concurrent use.
class ContentStore {
 public:
  static constexpr std::uint64_t kDefaultLimit = std::uint64_t{4} << 30;

  // `limit`: bytes that all contents together may take; a hostile trace can name any number of
  // files and mappings.
  explicit ContentStore(std::uint64_t limit = kDefaultLimit)
      : budget_(std::make_shared<ContentBudget>(limit)) {}

  // The file's bytes [offset, offset + length), cut at the file's end (an empty slice behind it).
  // Errors: as RegularFile::open; io, also if somebody has written to the file since it was opened;
  // truncated if it shrinks meanwhile; no_space at the limit. What is read later says so by
  // Content::trouble().
  Result<Slice> file(const std::string& path, std::uint64_t offset, std::uint64_t length);
  Result<Slice> file(const std::string& path) { return file(path, 0, ~std::uint64_t{0}); }

  // A copy of the bytes. Errors: no_space at the limit.
  Result<Slice> memory(std::span<const std::uint8_t> bytes);

 private:
  struct LexicographicLess {
    bool operator()(std::span<const std::uint8_t> a, std::span<const std::uint8_t> b) const;
  };
  Result<std::shared_ptr<Content>> known(const RegularFile& file, const std::string& path);

  const std::shared_ptr<ContentBudget> budget_;
  std::mutex mutex_;
  std::map<FileId, std::shared_ptr<Content>> files_;
  std::size_t open_ = 0;  // files
  // Ordered, not hashed: the keys come from the trace, and nobody can make a tree degenerate.
  std::map<std::span<const std::uint8_t>, std::shared_ptr<Content>, LexicographicLess> memories_;
};

}  // namespace hodo::image
