#include "hodo/perfdata/records.h"

namespace hodo::perfdata {

std::string_view name(RecordType type) {
  switch (type) {
    case RecordType::mmap:
      return "MMAP";
    case RecordType::lost:
      return "LOST";
    case RecordType::comm:
      return "COMM";
    case RecordType::exit:
      return "EXIT";
    case RecordType::throttle:
      return "THROTTLE";
    case RecordType::unthrottle:
      return "UNTHROTTLE";
    case RecordType::fork:
      return "FORK";
    case RecordType::read:
      return "READ";
    case RecordType::sample:
      return "SAMPLE";
    case RecordType::mmap2:
      return "MMAP2";
    case RecordType::aux:
      return "AUX";
    case RecordType::itrace_start:
      return "ITRACE_START";
    case RecordType::lost_samples:
      return "LOST_SAMPLES";
    case RecordType::switch_:
      return "SWITCH";
    case RecordType::switch_cpu_wide:
      return "SWITCH_CPU_WIDE";
    case RecordType::namespaces:
      return "NAMESPACES";
    case RecordType::ksymbol:
      return "KSYMBOL";
    case RecordType::bpf_event:
      return "BPF_EVENT";
    case RecordType::cgroup:
      return "CGROUP";
    case RecordType::text_poke:
      return "TEXT_POKE";
    case RecordType::aux_output_hw_id:
      return "AUX_OUTPUT_HW_ID";
    case RecordType::header_attr:
      return "ATTR";
    case RecordType::header_event_type:
      return "EVENT_TYPE";
    case RecordType::header_tracing_data:
      return "TRACING_DATA";
    case RecordType::header_build_id:
      return "BUILD_ID";
    case RecordType::finished_round:
      return "FINISHED_ROUND";
    case RecordType::id_index:
      return "ID_INDEX";
    case RecordType::auxtrace_info:
      return "AUXTRACE_INFO";
    case RecordType::auxtrace:
      return "AUXTRACE";
    case RecordType::auxtrace_error:
      return "AUXTRACE_ERROR";
    case RecordType::thread_map:
      return "THREAD_MAP";
    case RecordType::cpu_map:
      return "CPU_MAP";
    case RecordType::stat_config:
      return "STAT_CONFIG";
    case RecordType::stat:
      return "STAT";
    case RecordType::stat_round:
      return "STAT_ROUND";
    case RecordType::event_update:
      return "EVENT_UPDATE";
    case RecordType::time_conv:
      return "TIME_CONV";
    case RecordType::header_feature:
      return "FEATURE";
    case RecordType::compressed:
      return "COMPRESSED";
    case RecordType::finished_init:
      return "FINISHED_INIT";
  }
  return "";
}

}  // namespace hodo::perfdata
