// The file under a Writer: grows by whole blocks and never keeps half of one.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>

#include "hodo/base/result.h"

namespace hodo::perfdata {

// What is appended is held in memory until it fills kPiece bytes of the file, or until flush().
//
// The first kCached bytes go through the page cache, where readers will find them. Of longer files
// whole pieces go to the disk directly (open(2), O_DIRECT): copying gigabytes into the page cache
// costs more processor time than recording them, and the memory is everybody's. Where the file
// system refuses that, or the disk is so slow that the cache has to stand in for it, the cache is
// used throughout. All of it is copied once on its way, into a huge page: pinning the small pages
// of a shared ring for the disk costs more than that.
class OutputFile {
 public:
  // A multiple of what O_DIRECT asks for anywhere, large enough for a disk's full speed, and one
  // huge page: the kernel pins that at once instead of page by page.
  static constexpr std::uint64_t kPiece = 2 << 20;
  static constexpr std::uint64_t kCached = 64 << 20;

  // Creates `path` (mode 0600). With keep_old a regular, non-empty file of that name is renamed to
  // PATH.old first, as perf record does. Until it is closed, the file is locked. usage: not
  // seekable; otherwise as the system says.
  static Result<std::unique_ptr<OutputFile>> create(const std::string& path, bool keep_old);

  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();  // what was not flushed is lost

  // With what is held in memory; after an error, of what is left.
  std::uint64_t size() const { return size_; }
  const std::string& path() const { return path_; }  // absolute

  // Adds all of `blocks`. The system's error may come from a later call, and ends the file: it is
  // cut behind the last append() that is in it as a whole.
  Status append(std::span<const std::span<const std::uint8_t>> blocks);
  // All that was appended is in the file.
  Status flush();
  // Overwrites what is in the file.
  Status patch(std::uint64_t offset, std::span<const std::uint8_t> bytes);
  // Some file systems report a full disk only here. not_found: nobody has the file any more.
  Status close();

 private:
  struct Freed {
    void operator()(std::uint8_t* memory) const { std::free(memory); }
  };

  OutputFile() = default;
  Status copy(std::span<const std::uint8_t> block, std::uint64_t whole);
  Status write_held(std::uint64_t whole);
  Status cut(Status status);
  std::span<const std::uint8_t> held() const;
  bool write_directly();
  Status write_cached(std::span<const std::uint8_t> bytes, std::uint64_t offset);
  void write_behind();

  int fd_ = -1;
  std::string path_;
  std::unique_ptr<std::uint8_t, Freed> piece_;  // what is held, each byte at its offset % kPiece
  std::uint64_t size_ = 0;
  std::uint64_t written_ = 0;  // in the file; the rest is held
  std::uint64_t whole_ = 0;    // behind the last append() that is in the file
  bool direct_ = true;         // worth trying
  std::uint64_t direct_bytes_ = 0;
  std::uint64_t direct_ns_ = 0;
  std::uint64_t handed_over_ = 0;  // of the cached: to the disk, as far as we have asked for it
};

}  // namespace hodo::perfdata
