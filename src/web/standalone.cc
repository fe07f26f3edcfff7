#include <nettle/base64.h>
#include <nettle/sha2.h>
#include <zlib.h>

#include <array>
#include <span>
#include <vector>

#include "hodo/web/page.h"

namespace hodo::web {
namespace {

std::string base64(std::span<const std::uint8_t> bytes) {
  std::string out(BASE64_ENCODE_RAW_LENGTH(bytes.size()), '\0');
  base64_encode_raw(out.data(), bytes.size(), bytes.data());
  return out;
}

// As a Content-Security-Policy names what may run: 'sha256-...'.
std::string source_of(std::string_view text) {
  sha256_ctx context{};
  sha256_init(&context);
  sha256_update(&context, text.size(), reinterpret_cast<const std::uint8_t*>(text.data()));
  std::array<std::uint8_t, SHA256_DIGEST_SIZE> digest{};
  sha256_digest(&context, digest.size(), digest.data());
  return "'sha256-" + base64(digest) + "'";
}

// zlib's format in base64: a fifth of the JSON's size, and no name in it can end the element.
Result<std::string> packed(std::string_view text) {
  uLongf size = compressBound(text.size());
  std::vector<std::uint8_t> out(size);
  if (compress(out.data(), &size, reinterpret_cast<const Bytef*>(text.data()), text.size()) !=
      Z_OK) {
    return fail(ErrorCode::no_space, "there is no memory to pack the page's answers");
  }
  return base64(std::span(out).first(size));
}

}  // namespace

Result<std::string> standalone(const Page& page, std::string_view answers) {
  auto data = packed(answers);
  if (!data) return std::unexpected(data.error());
  std::string out =
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; "
      "base-uri 'none'; form-action 'none'; script-src ";
  out += source_of(page.script) + "; style-src " + source_of(page.style) + "\">\n";
  out +=
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n"
      "<link rel=\"icon\" href=\"data:,\">\n<title>hodo</title>\n<style>";
  out += page.style;
  out += "</style>\n</head>\n<body>\n<script type=\"application/octet-stream\" id=\"answers\">";
  out += *data;
  out += "</script>\n<script>";
  out += page.script;
  out += "</script>\n</body>\n</html>\n";
  return out;
}

}  // namespace hodo::web
