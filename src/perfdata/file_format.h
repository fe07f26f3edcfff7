// The fixed parts of a perf.data file (tools/perf/util/header.h; Documentation/
// perf.data-file-format.txt). Little-endian, packed by nature.
#pragma once

#include <cstddef>
#include <cstdint>

#include "hodo/perfdata/records.h"

namespace hodo::perfdata {

inline constexpr std::uint64_t kMagic2 = 0x32454c4946524550;         // "PERFILE2"
inline constexpr std::uint64_t kMagic2Swapped = 0x50455246494c4532;  // written by a big-endian host
inline constexpr std::uint64_t kMagic1 = 0x454c494646524550;         // "PERFFILE", before Linux 3.x

struct FileSection {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
};

// A file that was written to a pipe has only `magic` and `size` (16) before its records.
struct FileHeader {
  std::uint64_t magic = kMagic2;
  std::uint64_t size = 0;       // of this header
  std::uint64_t attr_size = 0;  // of one entry of `attrs`: the attribute and a FileSection of ids
  FileSection attrs;
  FileSection data;
  FileSection event_types;  // not used any more
  std::uint64_t features[4] = {};
};
static_assert(sizeof(FileHeader) == 104);
inline constexpr std::size_t kPipeHeaderSize = 16;
inline constexpr std::size_t kDataSizeOffset = offsetof(FileHeader, data) + 8;
inline constexpr std::size_t kFeaturesOffset = offsetof(FileHeader, features);

struct RecordHeader {  // struct perf_event_header
  std::uint32_t type = 0;
  std::uint16_t misc = 0;
  std::uint16_t size = 0;  // of the whole record
};
static_assert(sizeof(RecordHeader) == 8);
inline constexpr std::size_t kMaxRecordSize = 65528;  // the largest multiple of 8 in 16 bits

// struct perf_record_auxtrace without its header. The last word is reserved in perf, which writes
// 0: hodo has there for how many bytes of the data each sum is that follows (hodo/perfdata/sums.h).
struct AuxtraceBody {
  std::uint64_t size, offset, reference;
  std::uint32_t idx;
  std::int32_t tid, cpu;
  std::uint32_t sum_block;
};
static_assert(sizeof(AuxtraceBody) == 40);

// In front of each file of Feature::whole_files; its path and its bytes follow.
struct WholeFileHead {
  std::uint64_t inode = 0;
  std::uint64_t path_size = 0, size = 0;
  BuildId build_id;
  std::uint8_t zero[3] = {};
};
static_assert(sizeof(WholeFileHead) == 48);

// Words of AUXTRACE_INFO for Intel PT (tools/perf/util/intel-pt.h).
enum PtInfoWord : std::uint8_t {
  kPtPmuType,
  kPtTimeShift,
  kPtTimeMult,
  kPtTimeZero,
  kPtCapUserTimeZero,
  kPtTscBit,
  kPtNoRetCompBit,
  kPtHaveSchedSwitch,
  kPtSnapshotMode,
  kPtPerCpuMmaps,
  kPtMtcBit,
  kPtMtcFreqBits,
  kPtTscCtcN,
  kPtTscCtcD,
  kPtCycBit,
  kPtMaxNonTurboRatio,
  kPtFilterLength,
  kPtWords
};
// For Intel BTS (tools/perf/util/intel-bts.h).
enum BtsInfoWord : std::uint8_t {
  kBtsPmuType,
  kBtsTimeShift,
  kBtsTimeMult,
  kBtsTimeZero,
  kBtsCapUserTimeZero,
  kBtsSnapshotMode,
  kBtsWords
};

// Bits of perf_event_header.misc that linux/perf_event.h leaves to the perf tool.
inline constexpr std::uint16_t kMiscBuildIdSize = 1u << 15;

}  // namespace hodo::perfdata
