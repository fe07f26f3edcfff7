#include "decompressor.h"

#include <zstd.h>

#include <cstring>

#include "file_format.h"

namespace hodo::perfdata {

void Decompressor::Free::operator()(ZSTD_DCtx_s* context) const { ZSTD_freeDCtx(context); }
Decompressor::Decompressor() = default;
Decompressor::~Decompressor() = default;

void Decompressor::reset() {
  out_.clear();
  taken_ = 0;
  if (context_) ZSTD_DCtx_reset(context_.get(), ZSTD_reset_session_only);
}

Status Decompressor::feed(std::span<const std::uint8_t> compressed) {
  if (!context_) context_.reset(ZSTD_createDCtx());
  if (!context_) return fail(ErrorCode::no_space, "no memory to decompress records");
  out_.erase(out_.begin(), out_.begin() + static_cast<std::ptrdiff_t>(taken_));
  taken_ = 0;
  const std::size_t carried = out_.size();
  const auto give_up = [this](const char* why) {
    reset();
    return fail(ErrorCode::malformed, why);
  };
  ZSTD_inBuffer in{compressed.data(), compressed.size(), 0};
  std::size_t filled = carried;
  for (;;) {
    out_.resize(filled + ZSTD_DStreamOutSize());
    ZSTD_outBuffer out{out_.data() + filled, out_.size() - filled, 0};
    if (ZSTD_isError(ZSTD_decompressStream(context_.get(), &out, &in))) {
      return give_up("compressed records cannot be decompressed");
    }
    filled += out.pos;
    // A buffer that is not full and no input left: everything is out.
    if (in.pos == in.size && out.pos < out.size) break;
    if (filled - carried > kMaxOutput) return give_up("compressed records are larger than allowed");
  }
  out_.resize(filled);
  return {};
}

Result<std::optional<std::span<const std::uint8_t>>> Decompressor::next() {
  if (pending() < sizeof(RecordHeader)) return std::nullopt;
  RecordHeader header;
  std::memcpy(&header, out_.data() + taken_, sizeof(header));
  if (header.size < sizeof(header)) {
    reset();
    return fail(ErrorCode::malformed, "decompressed data is no record");
  }
  if (header.size > pending()) return std::nullopt;
  const auto record = std::span<const std::uint8_t>(out_).subspan(taken_, header.size);
  taken_ += header.size;
  return record;
}

}  // namespace hodo::perfdata
