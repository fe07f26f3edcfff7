// A file of a ModuleCache that is written and read in parts: for what is larger than anybody asks
// for at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hodo/text/module_cache.h"

namespace hodo::text {

// Where a part lies in its file, and how large it is: what the file's head, or whoever else has to
// find it, remembers.
struct FilePart {
  std::uint64_t offset = 0;
  std::uint64_t packed = 0;  // bytes in the file
  std::uint64_t size = 0;
};

// Made by ModuleCache::write_parts(). What is not finished is not kept.
class PartsWriter {
 public:
  // `folder` is the descriptor of a folder, which this closes; -1: nothing can be written.
  PartsWriter(int folder, std::string name, const ModuleCache::Key& key);
  ~PartsWriter();
  PartsWriter(const PartsWriter&) = delete;
  PartsWriter& operator=(const PartsWriter&) = delete;

  // nullopt: it could not be written, and nothing will be.
  std::optional<FilePart> add(std::span<const std::uint8_t> part);
  // Of the file, up to here.
  std::uint64_t bytes() const { return end_; }
  // The last part, by which the others are found. False: there is no such file now.
  bool finish(std::span<const std::uint8_t> head);

 private:
  int folder_;
  int file_ = -1;
  std::string name_;
  std::string unfinished_;
  ModuleCache::Key key_;
  std::uint64_t end_ = 0;
};

// Made by ModuleCache::open_parts(). Safe for concurrent use.
class PartsReader {
 public:
  // No part is larger: who writes one that is will not read it again.
  static constexpr std::size_t kLargestPart = std::size_t{1} << 20;

  // `file` is a descriptor, which this closes. nullptr: it is not what PartsWriter wrote.
  static std::unique_ptr<PartsReader> open(int file, const ModuleCache::Key& key);
  ~PartsReader();
  PartsReader(const PartsReader&) = delete;
  PartsReader& operator=(const PartsReader&) = delete;

  std::span<const std::uint8_t> head() const { return head_; }
  std::uint64_t bytes() const { return bytes_; }
  // nullopt: there is none there, or it is damaged.
  std::optional<std::vector<std::uint8_t>> part(const FilePart& part) const;

 private:
  explicit PartsReader(int file) : file_(file) {}
  std::optional<std::vector<std::uint8_t>> read(const FilePart& part, std::uint64_t most) const;

  int file_;
  std::uint64_t bytes_ = 0;
  std::vector<std::uint8_t> head_;
};

}  // namespace hodo::text
