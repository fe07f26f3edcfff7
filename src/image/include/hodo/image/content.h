// Bytes with an identity, shared by every process and mapping that has them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "hodo/base/result.h"
#include "hodo/image/file.h"

namespace hodo::image {

// Bytes that never change once they can be seen. Files are copied into memory, not mapped: a
// mapping would follow later writes to the file and raise SIGBUS when it shrinks, and only the
// ranges that are asked for are read. Lives as long as somebody holds it.
class Content {
 public:
  Content(const Content&) = delete;
  Content& operator=(const Content&) = delete;

  // Unique among all contents of this process, never 0.
  std::uint64_t id() const { return id_; }
  std::uint64_t size() const { return size_; }

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
  Content(Storage data, std::uint64_t size);
  static Storage reserve(std::size_t size);  // as operator new

  const std::uint64_t id_;
  const Storage data_;
  const std::uint64_t size_;
};

// A range of a content whose bytes are in memory. Only ContentStore makes non-empty ones.
struct Slice {
  std::shared_ptr<const Content> content;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;

  std::span<const std::uint8_t> bytes() const {
    if (!content) return {};
    return {content->data_.get() + offset, static_cast<std::size_t>(length)};
  }
};

// Makes contents and knows the ones it made: asking for the same file (device, inode, times, size)
// or for equal bytes gives the same content. Safe for concurrent use.
class ContentStore {
 public:
  static constexpr std::uint64_t kDefaultLimit = std::uint64_t{4} << 30;

  // `limit`: bytes that all contents together may take; a hostile trace can name any number of
  // files and mappings.
  explicit ContentStore(std::uint64_t limit = kDefaultLimit) : limit_(limit) {}

  // The file's bytes [offset, offset + length), cut at the file's end (an empty slice behind it).
  // Errors: as RegularFile::open; io; truncated if the file shrinks meanwhile; no_space at the
  // limit.
  Result<Slice> file(const std::string& path, std::uint64_t offset, std::uint64_t length);
  Result<Slice> file(const std::string& path) { return file(path, 0, ~std::uint64_t{0}); }

  // A copy of the bytes. Errors: no_space at the limit.
  Result<Slice> memory(std::span<const std::uint8_t> bytes);

 private:
  struct FileContent {
    std::shared_ptr<Content> content;
    std::vector<bool> loaded;  // one per block of kBlock bytes
  };
  struct LexicographicLess {
    bool operator()(std::span<const std::uint8_t> a, std::span<const std::uint8_t> b) const;
  };
  Result<FileContent*> known(const RegularFile& file, const std::string& path);
  Status load(const RegularFile& file, FileContent& known, std::uint64_t offset,
              std::uint64_t length, const std::string& path);
  Status take_budget(std::uint64_t bytes);

  const std::uint64_t limit_;
  std::mutex mutex_;
  std::uint64_t used_ = 0;
  std::map<FileId, FileContent> files_;
  // Ordered, not hashed: the keys come from the trace, and nobody can make a tree degenerate.
  std::map<std::span<const std::uint8_t>, std::shared_ptr<Content>, LexicographicLess> memories_;
};

}  // namespace hodo::image
