#include "raw_input.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "hodo/base/page.h"
#include "hodo/image/raw_image.h"

namespace hodo::session {
namespace {

// An image is part of the command, not of the trace.
std::unexpected<Error> image_error(const std::string& image, const Error& error) {
  return fail(ErrorCode::usage, fmt::format("--image {}: {}", image, error.message));
}

}  // namespace

Result<RawTrace> RawTrace::open(const Options& options) {
  auto file = image::RegularFile::open(options.path);
  if (!file) return std::unexpected(file.error());
  if (file->size() == 0) return fail(ErrorCode::malformed, "the file is empty");
  RawTrace raw(options.path, std::move(*file));
  Status status = raw.map_images(options.raw->images, options.sources);
  if (!status) return std::unexpected(status.error());
  return raw;
}

Status RawTrace::map_images(const std::vector<std::string>& images,
                            const symbol::SourcePaths& sources) {
  for (const std::string& text : images) {
    auto spec = image::parse_image(text);
    if (!spec) return image_error(text, spec.error());
    auto unmapped = image::map_image(*spec, *store_, *code_);
    if (!unmapped) return image_error(text, unmapped.error());
    unmapped_.insert(unmapped_.end(), unmapped->pages.begin(), unmapped->pages.end());
    if (const auto* elf = std::get_if<image::ElfImage>(&*spec)) names_->add(*elf, sources);
  }
  std::ranges::sort(unmapped_);
  return {};
}

std::optional<Explanation> RawTrace::explain(const flow::Loss& loss) const {
  const bool unmapped = loss.cause == flow::LossCause::no_code &&
                        std::ranges::binary_search(unmapped_, loss.ip / kPage * kPage);
  if (!unmapped) return std::nullopt;
  return Explanation{flow::name(loss.cause),
                     fmt::format("no code at {:#x}: its page was not mapped when the image was "
                                 "taken, one of {} that the image names as such",
                                 loss.ip, unmapped_.size())};
}

}  // namespace hodo::session
