// What every raw trace comes with: its bytes, and images of the code that it ran.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hodo/image/address_space.h"
#include "hodo/image/file.h"
#include "hodo/session/options.h"
#include "names/image_names.h"
#include "stream/queue_sink.h"

namespace hodo::session {

class RawTrace {
 public:
  // Opens the trace and maps the images. `options.raw` is set. Errors: as image::RegularFile::open;
  // malformed: an empty file; usage: an image that is none, or cannot be mapped.
  static Result<RawTrace> open(const Options& options);

  const std::string& path() const { return path_; }
  std::uint64_t size() const { return file_.size(); }
  // As image::RegularFile::read.
  Status read(std::uint64_t offset, std::span<std::uint8_t> out) const {
    return file_.read(offset, out);
  }
  const image::AddressSpace& code() const { return *code_; }
  const Names& names() const { return *names_; }
  // What the images know of a loss.
  std::optional<Explanation> explain(const flow::Loss& loss) const;

 private:
  RawTrace(std::string path, image::RegularFile file)
      : path_(std::move(path)), file_(std::move(file)) {}
  Status map_images(const std::vector<std::string>& images, const symbol::SourcePaths& sources);

  std::string path_;
  image::RegularFile file_;  // may be larger than memory
  std::unique_ptr<image::ContentStore> store_ = std::make_unique<image::ContentStore>();
  std::unique_ptr<image::AddressSpace> code_ = std::make_unique<image::AddressSpace>();
  std::unique_ptr<ImageNames> names_ = std::make_unique<ImageNames>();
  std::vector<std::uint64_t> unmapped_;  // pages, as the images say; sorted
};

}  // namespace hodo::session
