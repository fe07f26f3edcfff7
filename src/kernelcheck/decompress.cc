#include "decompress.h"

#include <bzlib.h>
#include <lz4.h>
#include <lzma.h>
#include <lzo/lzo1x.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <optional>

#include "hodo/base/byte_reader.h"

namespace hodo::kernelcheck {
namespace {

using In = std::span<const std::uint8_t>;
using Out = std::span<std::uint8_t>;

constexpr std::uint64_t kMostMemory = 512 << 20;  // of a decoder, beside its output

bool unpack_gzip(In in, Out out) {
  constexpr int kGzipOnly = 16 + MAX_WBITS;
  z_stream stream{};
  if (inflateInit2(&stream, kGzipOnly) != Z_OK) return false;
  stream.next_in = const_cast<Bytef*>(in.data());
  stream.avail_in = static_cast<uInt>(in.size());
  stream.next_out = out.data();
  stream.avail_out = static_cast<uInt>(out.size());
  const int end = inflate(&stream, Z_FINISH);
  inflateEnd(&stream);
  return end == Z_STREAM_END && stream.avail_out == 0;
}

bool unpack_bzip2(In in, Out out) {
  auto size = static_cast<unsigned>(out.size());
  const int end =
      BZ2_bzBuffToBuffDecompress(reinterpret_cast<char*>(out.data()), &size,
                                 const_cast<char*>(reinterpret_cast<const char*>(in.data())),
                                 static_cast<unsigned>(in.size()), 0, 0);
  return end == BZ_OK && size == out.size();
}

bool finish_lzma(lzma_stream& stream, In in, Out out) {
  stream.next_in = in.data();
  stream.avail_in = in.size();
  stream.next_out = out.data();
  stream.avail_out = out.size();
  const lzma_ret end = lzma_code(&stream, LZMA_FINISH);
  lzma_end(&stream);
  return end == LZMA_STREAM_END && stream.avail_out == 0;
}

bool unpack_lzma(In in, Out out) {
  lzma_stream stream = LZMA_STREAM_INIT;
  return lzma_alone_decoder(&stream, kMostMemory) == LZMA_OK && finish_lzma(stream, in, out);
}

bool unpack_xz(In in, Out out) {
  lzma_stream stream = LZMA_STREAM_INIT;
  return lzma_stream_decoder(&stream, kMostMemory, 0) == LZMA_OK && finish_lzma(stream, in, out);
}

bool unpack_zstd(In in, Out out) {
  return ZSTD_decompress(out.data(), out.size(), in.data(), in.size()) == out.size();
}

// lz4's first format (lz4 -l): behind the magic blocks, each with its compressed size. A whole
// block is of 8 MiB.
bool unpack_lz4(In in, Out out) {
  constexpr std::size_t kBlock = 8 << 20;
  ByteReader reader(in.subspan(4));
  while (!out.empty()) {
    const auto size = reader.read<std::uint32_t>();
    const auto block = size ? reader.take(*size) : std::nullopt;
    if (!block) return false;
    const std::size_t room = std::min(out.size(), kBlock);
    const int got = LZ4_decompress_safe(reinterpret_cast<const char*>(block->data()),
                                        reinterpret_cast<char*>(out.data()),
                                        static_cast<int>(block->size()), static_cast<int>(room));
    if (got <= 0) return false;
    out = out.subspan(static_cast<std::size_t>(got));
  }
  return reader.remaining() == 0;
}

// --- lzop, as the kernel's lib/decompress_unlzo.c reads it: numbers are big-endian ---

template <class T>
std::optional<T> big(ByteReader& reader) {
  const auto value = reader.read<T>();
  return value ? std::optional(std::byteswap(*value)) : std::nullopt;
}

bool skip_lzop_header(ByteReader& reader) {
  constexpr std::uint16_t kLongHeader = 0x0940;
  constexpr std::uint32_t kHasFilter = 0x800;
  const auto version = big<std::uint16_t>(reader);
  if (!version) return false;
  const bool is_long = *version >= kLongHeader;
  // The library's version, the one needed to unpack; method, level.
  if (!reader.take((is_long ? 4 : 2) + (is_long ? 2 : 1))) return false;
  const auto flags = big<std::uint32_t>(reader);
  if (!flags) return false;
  // The filter; mode and time.
  if (!reader.take(((*flags & kHasFilter) != 0 ? 4 : 0) + (is_long ? 12 : 8))) return false;
  const auto name = reader.read<std::uint8_t>();
  return name && reader.take(*name + std::size_t{4});  // and a checksum
}

bool unpack_lzo(In in, Out out) {
  ByteReader reader(in.subspan(9));
  if (!skip_lzop_header(reader)) return false;
  while (const auto whole = big<std::uint32_t>(reader)) {
    if (*whole == 0) return out.empty() && reader.remaining() == 0;
    const auto packed = big<std::uint32_t>(reader);
    if (!packed || !reader.take(4) || *whole > out.size() || *packed > *whole) return false;
    const auto block = reader.take(*packed);
    if (!block) return false;
    const Out here = out.first(*whole);
    lzo_uint size = here.size();
    if (block->size() == here.size()) {
      std::ranges::copy(*block, here.begin());  // it was no shorter compressed
    } else if (lzo1x_decompress_safe(block->data(), block->size(), here.data(), &size, nullptr) !=
                   LZO_E_OK ||
               size != here.size()) {
      return false;
    }
    out = out.subspan(here.size());
  }
  return false;
}

constexpr std::array<std::uint8_t, 3> kGzip = {0x1f, 0x8b, 8};
constexpr std::array<std::uint8_t, 3> kBzip2 = {'B', 'Z', 'h'};
constexpr std::array<std::uint8_t, 3> kLzma = {0x5d, 0, 0};
constexpr std::array<std::uint8_t, 6> kXz = {0xfd, '7', 'z', 'X', 'Z', 0};
constexpr std::array<std::uint8_t, 9> kLzo = {0x89, 'L', 'Z', 'O', 0, 0x0d, 0x0a, 0x1a, 0x0a};
constexpr std::array<std::uint8_t, 4> kLz4 = {0x02, 0x21, 0x4c, 0x18};
constexpr std::array<std::uint8_t, 4> kZstd = {0x28, 0xb5, 0x2f, 0xfd};

constexpr std::array<Compression, 7> kAll = {{{"gzip", kGzip, unpack_gzip, true},
                                              {"bzip2", kBzip2, unpack_bzip2, false},
                                              {"lzma", kLzma, unpack_lzma, false},
                                              {"xz", kXz, unpack_xz, false},
                                              {"lzo", kLzo, unpack_lzo, false},
                                              {"lz4", kLz4, unpack_lz4, false},
                                              {"zstd", kZstd, unpack_zstd, false}}};

}  // namespace

const Compression* compression_of(std::span<const std::uint8_t> bytes) {
  const auto found = std::ranges::find_if(kAll, [&](const Compression& one) {
    return bytes.size() >= one.magic.size() &&
           std::ranges::equal(bytes.first(one.magic.size()), one.magic);
  });
  return found == kAll.end() ? nullptr : &*found;
}

}  // namespace hodo::kernelcheck
