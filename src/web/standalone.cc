#include <nettle/base64.h>
#include <nettle/sha2.h>

#include <array>

#include "hodo/web/page.h"

namespace hodo::web {
namespace {

// As a Content-Security-Policy names what may run: 'sha256-...'.
std::string source_of(std::string_view text) {
  sha256_ctx context{};
  sha256_init(&context);
  sha256_update(&context, text.size(), reinterpret_cast<const std::uint8_t*>(text.data()));
  std::array<std::uint8_t, SHA256_DIGEST_SIZE> digest{};
  sha256_digest(&context, digest.size(), digest.data());
  std::string encoded(BASE64_ENCODE_RAW_LENGTH(SHA256_DIGEST_SIZE), '\0');
  base64_encode_raw(encoded.data(), digest.size(), digest.data());
  return "'sha256-" + encoded + "'";
}

// JSON means the same with these escaped, and then no name can end the element.
void append_json(std::string& out, std::string_view json) {
  for (const char c : json) {
    if (c == '<') {
      out += "\\u003c";
    } else {
      out += c;
    }
  }
}

}  // namespace

std::string standalone(const Page& page, std::string_view answers) {
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
  out += "</style>\n</head>\n<body>\n<script type=\"application/json\" id=\"answers\">";
  append_json(out, answers);
  out += "</script>\n<script>";
  out += page.script;
  out += "</script>\n</body>\n</html>\n";
  return out;
}

}  // namespace hodo::web
