#include "raw.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <cerrno>
#include <system_error>

#include "hodo/image/file.h"

namespace hodo::session {
namespace {

// Hands out what another source has, so that each decoding has a source of its own.
class Borrowed final : public image::CodeSource {
 public:
  explicit Borrowed(const image::CodeSource& source) : source_(source) {}
  image::CodeSpan find(std::uint64_t address, std::uint64_t time) const override {
    return source_.find(address, time);
  }

 private:
  const image::CodeSource& source_;
};

}  // namespace

Raw::~Raw() {
  if (!trace_.empty()) munmap(const_cast<std::uint8_t*>(trace_.data()), trace_.size());
}

Result<std::unique_ptr<Session>> Raw::open(const Options& options) {
  auto raw = std::unique_ptr<Raw>(new Raw);
  raw->path_ = options.path;
  if (Status status = raw->map(options.path); !status) return std::unexpected(status.error());
  Status status = raw->map_images(options.raw->images);
  if (!status) return std::unexpected(status.error());
  raw->queue_.bytes = raw->trace_.size();
  raw->config_.initial_mode = options.raw->mode;
  if (options.raw->filter) {
    raw->config_.filter = {{options.raw->filter->first, options.raw->filter->second}};
  }
  return raw;
}

// The trace is mapped, not read: it may be larger than memory. Nobody may shorten it meanwhile.
Status Raw::map(const std::string& path) {
  auto file = image::RegularFile::open(path);
  if (!file) return std::unexpected(file.error());
  if (file->size() == 0) return fail(ErrorCode::malformed, "the file is empty");
  void* data = mmap(nullptr, file->size(), PROT_READ, MAP_PRIVATE, file->fd(), 0);
  if (data == MAP_FAILED) {
    return fail(ErrorCode::io,
                fmt::format("mapping the file: {}", std::generic_category().message(errno)));
  }
  madvise(data, file->size(), MADV_SEQUENTIAL);
  trace_ = {static_cast<const std::uint8_t*>(data), file->size()};
  return {};
}

Status Raw::map_images(const std::vector<std::string>& images) {
  for (const std::string& text : images) {
    auto spec = image::parse_image(text);
    if (!spec) return std::unexpected(spec.error());
    Status status = image::map_image(*spec, store_, space_);
    if (!status) return status;
    if (const auto* elf = std::get_if<image::ElfImage>(&*spec)) names_.add(*elf);
  }
  return {};
}

Occupancy Raw::occupancy(std::size_t) { return {}; }

std::unique_ptr<image::CodeSource> Raw::code(std::size_t, const Occupancy&) {
  return std::make_unique<Borrowed>(space_);
}

}  // namespace hodo::session
