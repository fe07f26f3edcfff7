#include "raw_input.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "hodo/image/file.h"
#include "hodo/image/raw_image.h"

namespace hodo::session {
namespace {

// An image is part of the command, not of the trace.
std::unexpected<Error> image_error(const std::string& image, const Error& error) {
  return fail(ErrorCode::usage, fmt::format("--image {}: {}", image, error.message));
}

}  // namespace

Result<RawTrace> RawTrace::open(const Options& options) {
  RawTrace raw;
  raw.path_ = options.path;
  if (Status status = raw.map(options.path); !status) return std::unexpected(status.error());
  Status status = raw.map_images(options.raw->images);
  if (!status) return std::unexpected(status.error());
  return raw;
}

RawTrace::RawTrace(RawTrace&& other) noexcept
    : path_(std::move(other.path_)),
      bytes_(std::exchange(other.bytes_, {})),
      store_(std::move(other.store_)),
      code_(std::move(other.code_)),
      names_(std::move(other.names_)) {}

RawTrace::~RawTrace() {
  if (!bytes_.empty()) munmap(const_cast<std::uint8_t*>(bytes_.data()), bytes_.size());
}

// The trace is mapped, not read: it may be larger than memory. Nobody may shorten it meanwhile.
Status RawTrace::map(const std::string& path) {
  auto file = image::RegularFile::open(path);
  if (!file) return std::unexpected(file.error());
  if (file->size() == 0) return fail(ErrorCode::malformed, "the file is empty");
  void* data = mmap(nullptr, file->size(), PROT_READ, MAP_PRIVATE, file->fd(), 0);
  if (data == MAP_FAILED) {
    return fail(ErrorCode::io,
                fmt::format("mapping the file: {}", std::generic_category().message(errno)));
  }
  madvise(data, file->size(), MADV_SEQUENTIAL);
  bytes_ = {static_cast<const std::uint8_t*>(data), file->size()};
  return {};
}

Status RawTrace::map_images(const std::vector<std::string>& images) {
  for (const std::string& text : images) {
    auto spec = image::parse_image(text);
    if (!spec) return image_error(text, spec.error());
    if (Status status = image::map_image(*spec, *store_, *code_); !status) {
      return image_error(text, status.error());
    }
    if (const auto* elf = std::get_if<image::ElfImage>(&*spec)) names_->add(*elf);
  }
  return {};
}

}  // namespace hodo::session
