#include "cache_files.h"

#include <zstd.h>

#include <cerrno>
#include <memory>

namespace hodo::text {

bool write_all(int fd, std::span<const std::uint8_t> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
  return true;
}

std::vector<std::uint8_t> read_at(int fd, std::uint64_t offset, std::size_t size) {
  std::vector<std::uint8_t> out(size);
  std::size_t done = 0;
  while (done < size) {
    const ssize_t n =
        ::pread(fd, out.data() + done, size - done, static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    done += static_cast<std::size_t>(n);
  }
  out.resize(done);
  return out;
}

std::vector<std::uint8_t> compressed(std::span<const std::uint8_t> bytes) {
  using Context = std::unique_ptr<ZSTD_CCtx, std::size_t (*)(ZSTD_CCtx*)>;
  thread_local const Context context = [] {
    Context made(ZSTD_createCCtx(), ZSTD_freeCCtx);
    if (!made) return made;
    ZSTD_CCtx_setParameter(made.get(), ZSTD_c_compressionLevel, 1);
    // A frame that was damaged is noticed. Against malice there are the rights of the folder.
    ZSTD_CCtx_setParameter(made.get(), ZSTD_c_checksumFlag, 1);
    return made;
  }();
  if (!context) return {};
  std::vector<std::uint8_t> out(ZSTD_compressBound(bytes.size()));
  const std::size_t size =
      ZSTD_compress2(context.get(), out.data(), out.size(), bytes.data(), bytes.size());
  if (ZSTD_isError(size)) return {};
  out.resize(size);
  return out;
}

std::uint64_t most_compressed(std::uint64_t size) { return ZSTD_COMPRESSBOUND(size); }

std::optional<std::vector<std::uint8_t>> decompressed(std::span<const std::uint8_t> frame,
                                                      std::uint64_t size) {
  if (ZSTD_getFrameContentSize(frame.data(), frame.size()) != size) return std::nullopt;
  std::vector<std::uint8_t> out(static_cast<std::size_t>(size));
  const std::size_t done = ZSTD_decompress(out.data(), out.size(), frame.data(), frame.size());
  if (ZSTD_isError(done) || done != out.size()) return std::nullopt;
  return out;
}

}  // namespace hodo::text
