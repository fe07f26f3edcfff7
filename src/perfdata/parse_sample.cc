// PERF_RECORD_SAMPLE and the sample-id trailer: perf_output_sample and perf_event__output_id_sample
// in the kernel's kernel/events/core.c give the order.
#include <bit>

#include "parse_common.h"

namespace hodo::perfdata {
namespace {

// The size of struct read_format is in its contents; returns its bytes.
std::span<const std::uint8_t> take_read_format(FieldReader& in, std::uint64_t format) {
  const bool group = format & PERF_FORMAT_GROUP;
  const std::uint64_t per_value =
      1 + ((format & PERF_FORMAT_ID) != 0) + ((format & PERF_FORMAT_LOST) != 0);
  const std::uint64_t times = ((format & PERF_FORMAT_TOTAL_TIME_ENABLED) != 0) +
                              ((format & PERF_FORMAT_TOTAL_TIME_RUNNING) != 0);
  if (!group) return in.take(8 * (per_value + times));
  FieldReader ahead = in;
  const std::uint64_t values = ahead.u64();
  if (values > in.remaining() / 8) return in.take(~std::uint64_t{0});
  return in.take(8 * (1 + times + values * per_value));
}

PackedArray<std::uint64_t> take_registers(FieldReader& in, std::uint64_t mask, std::uint64_t* abi) {
  *abi = in.u64();
  if (*abi == PERF_SAMPLE_REGS_ABI_NONE) return {};
  return in.array<std::uint64_t>(static_cast<std::uint64_t>(std::popcount(mask)));
}

void parse_identity(FieldReader& in, std::uint64_t type, Sample& out) {
  if (type & PERF_SAMPLE_IDENTIFIER) out.id.id = in.u64();
  if (type & PERF_SAMPLE_IP) out.ip = in.u64();
  if (type & PERF_SAMPLE_TID) {
    out.id.pid = in.i32();
    out.id.tid = in.i32();
  }
  if (type & PERF_SAMPLE_TIME) out.id.time = in.u64();
  if (type & PERF_SAMPLE_ADDR) out.address = in.u64();
  if (type & PERF_SAMPLE_ID) out.id.id = in.u64();
  if (type & PERF_SAMPLE_STREAM_ID) out.id.stream_id = in.u64();
  if (type & PERF_SAMPLE_CPU) {
    out.id.cpu = in.i32();
    in.u32();
  }
  if (type & PERF_SAMPLE_PERIOD) out.period = in.u64();
}

void parse_branches(FieldReader& in, const Layout& layout, Sample& out) {
  const auto count = in.u64();
  if (layout.branch_sample_type & PERF_SAMPLE_BRANCH_HW_INDEX) out.branch_hw_index = in.u64();
  out.branches = in.array<BranchEntry>(count);
  out.has_branches = true;
}

void parse_stacks(FieldReader& in, const Layout& layout, Sample& out) {
  const auto type = layout.sample_type;
  if (type & PERF_SAMPLE_CALLCHAIN) {
    const auto count = in.u64();
    out.callchain = in.array<std::uint64_t>(count);
  }
  if (type & PERF_SAMPLE_RAW) out.raw = in.take(in.u32());
  if (type & PERF_SAMPLE_BRANCH_STACK) parse_branches(in, layout, out);
  if (type & PERF_SAMPLE_REGS_USER) {
    out.user_regs = take_registers(in, layout.sample_regs_user, &out.user_regs_abi);
  }
  if (type & PERF_SAMPLE_STACK_USER) {
    if (const auto size = in.u64()) {
      const auto bytes = in.take(size);
      const auto used = in.u64();
      out.user_stack = bytes.first(std::min<std::uint64_t>(used, bytes.size()));
    }
  }
}

void parse_details(FieldReader& in, const Layout& layout, Sample& out) {
  const auto type = layout.sample_type;
  if (type & (PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT)) out.weight = in.u64();
  if (type & PERF_SAMPLE_DATA_SRC) out.data_src = in.u64();
  if (type & PERF_SAMPLE_TRANSACTION) out.transaction = in.u64();
  if (type & PERF_SAMPLE_REGS_INTR) {
    out.intr_regs = take_registers(in, layout.sample_regs_intr, &out.intr_regs_abi);
  }
  if (type & PERF_SAMPLE_PHYS_ADDR) out.physical_address = in.u64();
  if (type & PERF_SAMPLE_CGROUP) out.cgroup = in.u64();
  if (type & PERF_SAMPLE_DATA_PAGE_SIZE) out.data_page_size = in.u64();
  if (type & PERF_SAMPLE_CODE_PAGE_SIZE) out.code_page_size = in.u64();
  if (type & PERF_SAMPLE_AUX) out.aux = in.take(in.u64());
}

}  // namespace

Sample parse_sample(FieldReader& in, const Layout& layout) {
  Sample out;
  parse_identity(in, layout.sample_type, out);
  if (layout.sample_type & PERF_SAMPLE_READ) out.read = take_read_format(in, layout.read_format);
  parse_stacks(in, layout, out);
  parse_details(in, layout, out);
  return out;
}

std::size_t trailer_size(const Layout& layout) {
  if (!layout.sample_id_all) return 0;
  const std::uint64_t fields = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID |
                               PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER;
  return 8 * static_cast<std::size_t>(std::popcount(layout.sample_type & fields));
}

SampleId parse_trailer(FieldReader& in, const Layout& layout) {
  SampleId out;
  if (!layout.sample_id_all) return out;
  const auto type = layout.sample_type;
  if (type & PERF_SAMPLE_TID) {
    out.pid = in.i32();
    out.tid = in.i32();
  }
  if (type & PERF_SAMPLE_TIME) out.time = in.u64();
  if (type & PERF_SAMPLE_ID) out.id = in.u64();
  if (type & PERF_SAMPLE_STREAM_ID) out.stream_id = in.u64();
  if (type & PERF_SAMPLE_CPU) {
    out.cpu = in.i32();
    in.u32();
  }
  if (type & PERF_SAMPLE_IDENTIFIER) out.id = in.u64();
  return out;
}

}  // namespace hodo::perfdata
