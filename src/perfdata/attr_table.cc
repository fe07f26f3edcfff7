#include "attr_table.h"

#include <bit>
#include <cstring>
#include <optional>

#include "file_format.h"

namespace hodo::perfdata {
namespace {

bool same(const Layout& a, const Layout& b) {
  return a.sample_type == b.sample_type && a.read_format == b.read_format &&
         a.branch_sample_type == b.branch_sample_type && a.sample_regs_user == b.sample_regs_user &&
         a.sample_regs_intr == b.sample_regs_intr && a.sample_id_all == b.sample_id_all;
}

// Where the id lies, in words from the start of a SAMPLE or from the end of another record: with
// PERF_SAMPLE_IDENTIFIER at a fixed place, otherwise as `type` puts it (perf's evsel.c,
// __evsel__calc_id_pos and _is_pos). nullopt: records carry no id.
std::optional<unsigned> id_word(std::uint64_t type, bool sample) {
  if (type & PERF_SAMPLE_IDENTIFIER) return sample ? 0 : 1;
  if (!(type & PERF_SAMPLE_ID)) return std::nullopt;
  const auto count = [type](std::uint64_t mask) {
    return static_cast<unsigned>(std::popcount(type & mask));
  };
  if (sample) {
    return count(PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR);
  }
  return 1 + count(PERF_SAMPLE_CPU | PERF_SAMPLE_STREAM_ID);
}

std::optional<std::uint64_t> read_id(const RawRecord& raw, std::uint64_t type) {
  const bool sample = raw.type == RecordType::sample;
  const auto word = id_word(type, sample);
  if (!word || raw.bytes.size() < sizeof(RecordHeader)) return std::nullopt;
  const auto payload = raw.bytes.subspan(sizeof(RecordHeader));
  const std::size_t words = payload.size() / 8;
  const bool fits = sample ? *word < words : *word <= words;
  if (!fits) return std::nullopt;
  const std::size_t at = sample ? 8 * *word : payload.size() - 8 * *word;
  std::uint64_t id;
  std::memcpy(&id, payload.data() + at, sizeof(id));
  return id;
}

}  // namespace

void AttrTable::add(Attr attr) {
  const auto index = attrs_.size();
  for (const auto id : attr.ids) by_id_.emplace(id, index);
  attrs_.push_back(std::move(attr));
  one_layout_ = one_layout_ && same(perfdata::layout_of(attrs_.front().attr),
                                    perfdata::layout_of(attrs_.back().attr));
}

void AttrTable::set_name(std::uint64_t id, std::string name) {
  if (const auto it = by_id_.find(id); it != by_id_.end()) set_name_at(it->second, std::move(name));
}

void AttrTable::set_name_at(std::size_t index, std::string name) {
  if (index < attrs_.size()) attrs_[index].name = std::move(name);
}

const Attr* AttrTable::find_id(std::uint64_t id) const {
  const auto it = by_id_.find(id);
  return it == by_id_.end() ? nullptr : &attrs_[it->second];
}

const Attr* AttrTable::find(const SampleId& id) const {
  if (attrs_.size() == 1) return &attrs_.front();
  return id.id ? find_id(*id.id) : nullptr;
}

Layout AttrTable::layout_of(const RawRecord& raw) const {
  if (attrs_.empty()) return {};
  const Layout common = perfdata::layout_of(attrs_.front().attr);
  if (one_layout_) return common;
  // Events whose records are told apart agree on where the id is; records that the perf tool made
  // up have id 0 and the first event's layout.
  const auto id = read_id(raw, common.sample_type);
  const Attr* attr = id ? find_id(*id) : nullptr;
  return attr ? perfdata::layout_of(attr->attr) : common;
}

}  // namespace hodo::perfdata
