// Analyses of files, kept from one check to the next.
//
// A folder of files that only this user can write to; one that others could write to, or that is
// somebody else's, is not used. An analysis is found by what the file it is of contains, never by
// a name or build-id that somebody else could give another file, and by which build of hodoscope
// made it. What is read is checked as any input is; nothing in it is believed but facts about code.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace hodo::text {

class PartsReader;
class PartsWriter;

// What a folder holds. Of more, what was asked for least recently goes, but never the last. A
// program of a desktop has some 400 files, whose analyses take 150 MB.
struct CacheLimits {
  std::size_t files = 2048;
  std::uint64_t bytes = std::uint64_t{2} << 30;
};

class ModuleCache {
 public:
  using Key = std::array<std::uint8_t, 32>;  // SHA-256 of what an analysis is made from
  // Larger analyses are made anew each time.
  static constexpr std::size_t kLargest = std::size_t{256} << 20;

  // In $XDG_CACHE_HOME/hodoscope/`folder` (XDG Base Directory Specification), made by this build.
  // nullopt where there is none to be had: all works without, only slower.
  static std::optional<ModuleCache> of_user(const char* folder = "modules");
  // SHA-256, for other things that are kept this way.
  static Key key_of(std::span<const std::uint8_t> bytes);
  // In `folder`, which is made if its parent is there. `maker` tells builds apart.
  static std::optional<ModuleCache> in(const std::string& folder,
                                       std::span<const std::uint8_t> maker,
                                       CacheLimits limits = {});

  ModuleCache(ModuleCache&& other) noexcept;
  ModuleCache& operator=(ModuleCache&& other) noexcept;
  ~ModuleCache();

  // nullopt: not there, or not as store() left it.
  std::optional<std::vector<std::uint8_t>> load(const Key& key) const;
  // What cannot be kept is not.
  void store(const Key& key, std::span<const std::uint8_t> analysis) const;

  // The same in parts (parts_file.h). Null: not there, or not as a PartsWriter left it.
  std::unique_ptr<PartsReader> open_parts(const Key& key) const;
  std::unique_ptr<PartsWriter> write_parts(const Key& key) const;  // never null
  // Bytes that what was stored takes, in whatever way; 0: nothing was.
  std::uint64_t size_of(const Key& key) const;
  // What was stored under the key, in whatever way, is gone.
  void forget(const Key& key) const;

 private:
  ModuleCache(int folder, Key maker, CacheLimits limits)
      : folder_(folder), maker_(maker), limits_(limits) {}
  std::string name_of(const Key& key) const;
  int open_file(const Key& key) const;
  void remove_what_is_too_much() const;

  int folder_ = -1;
  Key maker_{};
  CacheLimits limits_;
};

// What a file of the cache holds, without the file: compressed, behind a header with the key. For
// load(), store() and those who test them.
std::optional<std::vector<std::uint8_t>> unwrap(std::span<const std::uint8_t> file,
                                                const ModuleCache::Key& key);
std::vector<std::uint8_t> wrap(std::span<const std::uint8_t> analysis, const ModuleCache::Key& key);

}  // namespace hodo::text
