// Where the rows of calls are kept from one question to the next.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace hodo::ask {

// Files beside an index, which whoever has a cache implements. Safe for concurrent use.
class CallStore {
 public:
  // Where a part of a file lies, as Writer::add() said, or as somebody else made it up.
  struct Part {
    std::uint64_t offset = 0;
    std::uint64_t packed = 0;
    std::uint64_t size = 0;
  };
  // No part is larger.
  static constexpr std::size_t kLargestPart = std::size_t{1} << 16;

  class Writer {
   public:
    virtual ~Writer() = default;
    // nullopt: there will be no such file.
    virtual std::optional<Part> add(std::span<const std::uint8_t> part) = 0;
    // Of the file, up to here.
    virtual std::uint64_t bytes() const = 0;
    // In the place of the file that was there. Without it there is the one from before.
    virtual void finish(std::span<const std::uint8_t> head) = 0;
  };
  // What it has is read as any input is. Safe for concurrent use.
  class File {
   public:
    virtual ~File() = default;
    virtual std::span<const std::uint8_t> head() const = 0;
    virtual std::uint64_t bytes() const = 0;
    // nullopt: there is none there.
    virtual std::optional<std::vector<std::uint8_t>> part(const Part& part) const = 0;
  };

  // The files: the first is written when the index is made, the others by questions.
  static constexpr unsigned kFiles = 9;
  static constexpr unsigned kOfIndex = 0;

  CallStore() = default;
  CallStore(const CallStore&) = delete;
  CallStore& operator=(const CallStore&) = delete;
  virtual ~CallStore() = default;

  // Null: there is none.
  virtual std::unique_ptr<const File> open(unsigned file) = 0;
  // Null: nothing can be kept.
  virtual std::unique_ptr<Writer> write(unsigned file) = 0;
  virtual void forget(unsigned file) = 0;
  // Bytes that all may take.
  virtual std::uint64_t room() const = 0;
  // What was found by decoding fewer of the index's segments is not worth keeping.
  virtual std::size_t least_segments() const = 0;
};

// Forgets files that there is no room for: those of the index last, and of others the newest.
void keep_within_room(CallStore& store);

}  // namespace hodo::ask
