// perf.data files made by hand, byte by byte, for tests of the reader: says nothing of Writer.
#pragma once

#include <linux/perf_event.h>

#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "hodo/perfdata/reader.h"

namespace hodo::perfdata {

using Bytes = std::vector<std::uint8_t>;

template <class... Ts>
Bytes pack(const Ts&... values) {
  Bytes out;
  const auto append = [&out](const auto& value) {
    const auto* begin = reinterpret_cast<const std::uint8_t*>(&value);
    out.insert(out.end(), begin, begin + sizeof(value));
  };
  (append(values), ...);
  return out;
}

inline Bytes text(std::string_view characters, std::size_t alignment = 8) {
  Bytes out(characters.begin(), characters.end());
  out.resize((out.size() / alignment + 1) * alignment);
  return out;
}

template <class... Bs>
Bytes join(const Bs&... parts) {
  Bytes out;
  (out.insert(out.end(), parts.begin(), parts.end()), ...);
  return out;
}

inline Bytes record(RecordType type, std::uint16_t misc, const Bytes& payload) {
  return join(
      pack(static_cast<std::uint32_t>(type), misc, static_cast<std::uint16_t>(8 + payload.size())),
      payload);
}

inline constexpr std::uint64_t kUsualType =
    PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER;

// The trailer of kUsualType.
inline Bytes stamp(std::int32_t pid, std::int32_t tid, std::uint64_t time, std::uint32_t cpu = 0,
                   std::uint64_t id = 1) {
  return pack(pid, tid, time, cpu, std::uint32_t{0}, id);
}

struct TestAttr {
  std::uint64_t sample_type = kUsualType;
  std::vector<std::uint64_t> ids = {1};
  std::uint32_t type = 8;
  std::uint64_t config = 0;
  std::uint64_t branch_sample_type = 0;
};

// Header, ids, attrs and the records; `features` by bit.
inline Bytes file_of(const Bytes& records, const std::vector<TestAttr>& attrs = {TestAttr{}},
                     const std::vector<std::pair<unsigned, Bytes>>& features = {{3, {}}}) {
  Bytes ids;
  Bytes entries;
  for (const auto& attr : attrs) {
    perf_event_attr raw{};
    raw.size = sizeof(raw);
    raw.type = attr.type;
    raw.config = attr.config;
    raw.sample_type = attr.sample_type;
    raw.branch_sample_type = attr.branch_sample_type;
    raw.sample_id_all = 1;
    entries = join(entries,
                   pack(raw, std::uint64_t{104 + ids.size()}, std::uint64_t{8 * attr.ids.size()}));
    for (const auto id : attr.ids) ids = join(ids, pack(id));
  }
  const std::uint64_t attrs_at = 104 + ids.size();
  const std::uint64_t data_at = attrs_at + entries.size();
  std::uint64_t masks[4] = {};
  Bytes table, sections;
  std::uint64_t at = data_at + records.size() + 16 * features.size();
  for (const auto& [bit, bytes] : features) {
    masks[bit / 64] |= std::uint64_t{1} << (bit % 64);
    table = join(table, pack(at, std::uint64_t{bytes.size()}));
    sections = join(sections, bytes);
    at += bytes.size();
  }
  const std::uint64_t zero = 0;
  const Bytes header =
      join(text("PERFILE", 8), pack(std::uint64_t{104}, std::uint64_t{sizeof(perf_event_attr) + 16},
                                    attrs_at, std::uint64_t{entries.size()}, data_at,
                                    std::uint64_t{records.size()}, zero, zero, masks));
  Bytes out = join(header, ids, entries, records, table, sections);
  out[7] = '2';
  return out;
}

// Where file_of's records begin with one attr of one id.
inline constexpr std::uint64_t kDataAt = 104 + 8 + sizeof(perf_event_attr) + 16;

inline std::vector<Record> read_all(Cursor& cursor) {
  std::vector<Record> out;
  while (auto one = cursor.next()) out.push_back(*one);
  return out;
}

inline Bytes comm_record(std::int32_t pid, std::int32_t tid, std::string_view comm,
                         std::uint64_t time, bool exec = false) {
  return record(RecordType::comm, exec ? PERF_RECORD_MISC_COMM_EXEC : 0,
                join(pack(pid, tid), text(comm), stamp(pid, tid, time)));
}

inline Bytes auxtrace_record(std::uint32_t idx, std::int32_t tid, std::int32_t cpu,
                             std::uint64_t offset, const Bytes& data) {
  return join(record(RecordType::auxtrace, 0,
                     pack(std::uint64_t{data.size()}, offset, std::uint64_t{1}, idx, tid, cpu,
                          std::uint32_t{0})),
              data);
}

}  // namespace hodo::perfdata
