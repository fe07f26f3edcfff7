// Records the kernel writes: include/uapi/linux/perf_event.h, enum perf_event_type.
#include <sys/mman.h>

#include "parse_common.h"

namespace hodo::perfdata {
namespace {

Mmap parse_mmap(FieldReader& in, std::uint16_t misc, bool mmap2) {
  Mmap out;
  out.mmap2 = mmap2;
  out.data = misc & PERF_RECORD_MISC_MMAP_DATA;
  out.pid = in.i32();
  out.tid = in.i32();
  out.address = in.u64();
  out.size = in.u64();
  out.file_offset = in.u64();
  out.prot = out.data ? PROT_READ : PROT_READ | PROT_EXEC;
  if (mmap2 && (misc & PERF_RECORD_MISC_MMAP_BUILD_ID)) {
    out.build_id.size = std::min<std::uint8_t>(in.get<std::uint8_t>(), 20);
    in.take(3);
    out.build_id.bytes = in.get<std::array<std::uint8_t, 20>>();
  } else if (mmap2) {
    out.maj = in.u32();
    out.min = in.u32();
    out.inode = in.u64();
    out.inode_generation = in.u64();
  }
  if (mmap2) {
    out.prot = in.u32();
    out.flags = in.u32();
  }
  out.path = in.string_rest();
  return out;
}

Comm parse_comm(FieldReader& in, std::uint16_t misc) {
  Comm out;
  out.pid = in.i32();
  out.tid = in.i32();
  out.exec = misc & PERF_RECORD_MISC_COMM_EXEC;
  out.comm = in.string_rest();
  return out;
}

Task parse_task(FieldReader& in) {
  Task out;
  out.pid = in.i32();
  out.ppid = in.i32();
  out.tid = in.i32();
  out.ptid = in.i32();
  out.time = in.u64();
  return out;
}

Switch parse_switch(FieldReader& in, std::uint16_t misc, bool cpu_wide) {
  Switch out;
  out.out = misc & PERF_RECORD_MISC_SWITCH_OUT;
  out.preempt = misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT;
  if (cpu_wide) {
    out.next_prev_pid = in.i32();
    out.next_prev_tid = in.i32();
  }
  return out;
}

Ksymbol parse_ksymbol(FieldReader& in) {
  Ksymbol out;
  out.address = in.u64();
  out.size = in.u32();
  out.type = in.get<std::uint16_t>();
  out.flags = in.get<std::uint16_t>();
  out.name = in.string_rest();
  return out;
}

BpfEvent parse_bpf(FieldReader& in) {
  BpfEvent out;
  out.type = in.get<std::uint16_t>();
  out.flags = in.get<std::uint16_t>();
  out.id = in.u32();
  out.tag = in.take(8);
  return out;
}

TextPoke parse_text_poke(FieldReader& in) {
  TextPoke out;
  out.address = in.u64();
  const auto old_size = in.get<std::uint16_t>();
  const auto new_size = in.get<std::uint16_t>();
  out.old_bytes = in.take(old_size);
  out.new_bytes = in.take(new_size);
  return out;
}

Namespaces parse_namespaces(FieldReader& in) {
  Namespaces out;
  out.pid = in.i32();
  out.tid = in.i32();
  const auto count = in.u64();
  out.links = in.array<std::array<std::uint64_t, 2>>(count);
  return out;
}

}  // namespace

Body parse_kernel_body(RecordType type, std::uint16_t misc, FieldReader& in) {
  switch (type) {
    case RecordType::mmap:
      return parse_mmap(in, misc, false);
    case RecordType::mmap2:
      return parse_mmap(in, misc, true);
    case RecordType::comm:
      return parse_comm(in, misc);
    case RecordType::fork:
    case RecordType::exit:
      return parse_task(in);
    case RecordType::lost: {
      const auto id = in.u64();
      return Lost{id, in.u64()};
    }
    case RecordType::lost_samples:
      return LostSamples{in.u64()};
    case RecordType::throttle:
    case RecordType::unthrottle: {
      const auto words = in.get<std::array<std::uint64_t, 3>>();
      return Throttle{words[0], words[1], words[2]};
    }
    case RecordType::switch_:
      return parse_switch(in, misc, false);
    case RecordType::switch_cpu_wide:
      return parse_switch(in, misc, true);
    case RecordType::itrace_start: {
      const auto pid = in.i32();
      return ItraceStart{pid, in.i32()};
    }
    case RecordType::aux: {
      const auto words = in.get<std::array<std::uint64_t, 3>>();
      return Aux{words[0], words[1], words[2]};
    }
    case RecordType::aux_output_hw_id:
      return AuxOutputHwId{in.u64()};
    case RecordType::namespaces:
      return parse_namespaces(in);
    case RecordType::ksymbol:
      return parse_ksymbol(in);
    case RecordType::bpf_event:
      return parse_bpf(in);
    case RecordType::cgroup: {
      const auto id = in.u64();
      return Cgroup{id, in.string_rest()};
    }
    case RecordType::text_poke:
      return parse_text_poke(in);
    default:
      return Other{in.rest()};
  }
}

}  // namespace hodo::perfdata
