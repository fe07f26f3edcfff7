// What every raw trace comes with: its bytes, and images of the code that it ran.
#pragma once

#include <span>
#include <string>

#include "hodo/image/address_space.h"
#include "hodo/session/options.h"
#include "image_names.h"

namespace hodo::session {

class RawTrace {
 public:
  // Maps the trace and the images. `options.raw` is set. Errors: as image::RegularFile::open;
  // malformed: an empty file; usage: an image that is none, or cannot be mapped.
  static Result<RawTrace> open(const Options& options);

  RawTrace(RawTrace&& other) noexcept;
  RawTrace& operator=(RawTrace&&) = delete;
  ~RawTrace();

  const std::string& path() const { return path_; }
  std::span<const std::uint8_t> bytes() const { return bytes_; }
  const image::AddressSpace& code() const { return *code_; }
  const Names& names() const { return *names_; }

 private:
  RawTrace() = default;
  Status map(const std::string& path);
  Status map_images(const std::vector<std::string>& images);

  std::string path_;
  std::span<const std::uint8_t> bytes_;  // mapped
  std::unique_ptr<image::ContentStore> store_ = std::make_unique<image::ContentStore>();
  std::unique_ptr<image::AddressSpace> code_ = std::make_unique<image::AddressSpace>();
  std::unique_ptr<ImageNames> names_ = std::make_unique<ImageNames>();
};

}  // namespace hodo::session
