// SHA-256 of bytes that come in pieces, by nettle.
#pragma once

#include <nettle/sha2.h>

#include <array>
#include <cstdint>
#include <span>

namespace hodo::text {

using Digest = std::array<std::uint8_t, SHA256_DIGEST_SIZE>;

class Sha256 {
 public:
  Sha256() { sha256_init(&sum_); }
  void add(std::span<const std::uint8_t> bytes) {
    sha256_update(&sum_, bytes.size(), bytes.data());
  }
  // Of all that was added since the last call.
  Digest finish() {
    Digest out{};
    sha256_digest(&sum_, out.size(), out.data());
    return out;
  }

 private:
  sha256_ctx sum_{};
};

}  // namespace hodo::text
