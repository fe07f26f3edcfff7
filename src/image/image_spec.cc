#include <charconv>

#include "hodo/image/raw_image.h"

namespace hodo::image {
namespace {

std::optional<std::uint64_t> parse_number(std::string_view text) {
  const bool hex = text.starts_with("0x") || text.starts_with("0X");
  if (hex) text.remove_prefix(2);
  std::uint64_t value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value, hex ? 16 : 10);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// "head:tail" at the last colon; nullopt without one.
struct Split {
  std::string_view head;
  std::string_view tail;
};
std::optional<Split> split_last(std::string_view text, char separator) {
  const auto at = text.rfind(separator);
  if (at == std::string_view::npos) return std::nullopt;
  return Split{text.substr(0, at), text.substr(at + 1)};
}

std::unexpected<Error> expected_form(std::string_view text, std::string_view form) {
  return fail(ErrorCode::usage,
              "image '" + std::string(text) + "' is not of the form " + std::string(form));
}

std::optional<ImageSpec> parse_elf(std::string_view rest) {
  ElfImage image;
  if (const auto at = split_last(rest, '@')) {
    image.base = parse_number(at->tail);
    if (image.base) rest = at->head;
  }
  image.path = rest;
  if (image.path.empty()) return std::nullopt;
  return image;
}

std::optional<ImageSpec> parse_bin(std::string_view rest) {
  const auto colon = rest.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto address = parse_number(rest.substr(0, colon));
  if (!address) return std::nullopt;
  BinImage image{.address = *address};
  rest.remove_prefix(colon + 1);
  const auto length = split_last(rest, ':');
  const auto offset = length ? split_last(length->head, ':') : std::nullopt;
  if (offset && parse_number(offset->tail) && parse_number(length->tail)) {
    image.offset = *parse_number(offset->tail);
    image.length = parse_number(length->tail);
    rest = offset->head;
  }
  image.path = rest;
  if (image.path.empty()) return std::nullopt;
  return image;
}

std::optional<ImageSpec> parse_pages(std::string_view rest) {
  const auto split = split_last(rest, ':');
  if (!split || split->head.empty() || split->tail.empty()) return std::nullopt;
  if (split->head.find(':') != std::string_view::npos) return std::nullopt;
  return PagesImage{std::string(split->head), std::string(split->tail)};
}

}  // namespace

Result<ImageSpec> parse_image(std::string_view text) {
  struct Form {
    std::string_view prefix;
    std::optional<ImageSpec> (*parse)(std::string_view);
    std::string_view form;
  };
  static constexpr Form kForms[] = {
      {"elf:", parse_elf, "elf:PATH[@BASE]"},
      {"bin:", parse_bin, "bin:ADDR:PATH[:OFFSET:LENGTH]"},
      {"pages:", parse_pages, "pages:ADDRFILE:DUMPFILE"},
  };
  for (const Form& form : kForms) {
    if (!text.starts_with(form.prefix)) continue;
    auto spec = form.parse(text.substr(form.prefix.size()));
    if (!spec) return expected_form(text, form.form);
    return *std::move(spec);
  }
  return expected_form(text,
                       "elf:PATH[@BASE], bin:ADDR:PATH[:OFFSET:LENGTH] or pages:ADDRFILE:DUMPFILE");
}

}  // namespace hodo::image
