// The records inside COMPRESSED records: one zstd stream runs through all of them, and a record may
// begin in one and end in the next (tools/perf/util/zstd.c, session.c).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "hodo/base/result.h"

struct ZSTD_DCtx_s;

namespace hodo::perfdata {

class Decompressor {
 public:
  // A COMPRESSED record holds less than 64 KiB, but zeros compress without limit; perf's own buffer
  // is as large as its ring, half a megabyte by default.
  static constexpr std::size_t kMaxOutput = std::size_t{64} << 20;

  Decompressor();
  ~Decompressor();

  // Adds one COMPRESSED record's payload. malformed: no zstd data, or too much of it; what was
  // pending is dropped then.
  Status feed(std::span<const std::uint8_t> compressed);
  // The next whole record; nullopt: feed more. Valid until the next call of either function.
  // malformed: not a record; what was pending is dropped.
  Result<std::optional<std::span<const std::uint8_t>>> next();
  // Drops what is pending.
  void reset();
  // Bytes of a record that has not come to its end.
  std::size_t pending() const { return out_.size() - taken_; }

 private:
  struct Free {
    void operator()(ZSTD_DCtx_s* context) const;
  };
  std::unique_ptr<ZSTD_DCtx_s, Free> context_;
  std::vector<std::uint8_t> out_;
  std::size_t taken_ = 0;
};

}  // namespace hodo::perfdata
