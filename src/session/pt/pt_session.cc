#include "pt_session.h"

#include <cstdio>

#include "filter_ranges.h"
#include "switched_source.h"

namespace hodo::session {
namespace {

// Of the processor that the file names. They do no harm to what a software trace unit wrote there,
// which makes none of these mistakes.
pt::Errata errata_of(const perfdata::FileFacts& facts) {
  unsigned family = 0, model = 0;
  if (std::sscanf(facts.cpuid.c_str(), "GenuineIntel,%u,%u", &family, &model) != 2) return {};
  return pt::errata_of(family, model);
}

}  // namespace

Status PtSession::decodable() const {
  if (model().trace() == perfdata::TraceKind::intel_pt) return {};
  if (!model().damages().empty()) {
    const perfdata::Damage& first = model().damages().front();
    return fail(ErrorCode::unsupported, "no branch trace can be read: " + first.what, first.offset);
  }
  return fail(ErrorCode::unsupported,
              "holds no branch trace; record with 'hodo record' or 'perf record -e intel_pt//u'");
}

bool PtSession::has_parts() {
  if (!decodable() || queues().empty()) return false;
  for (std::size_t i = 0; i < queues().size(); ++i) {
    if (queues()[i].tid < 0 || occupancy(i).turns().size() != 1) return false;
  }
  return true;
}

std::vector<std::string> PtSession::code_files() {
  std::vector<std::string> out;
  for (const perfdata::File& file : model().files()) {
    out.push_back(spaces().files().place(file.path).value_or(""));
  }
  return out;
}

Parts* parts_of(Session& session) {
  auto* const recording = dynamic_cast<PtSession*>(&session);
  return recording != nullptr && recording->has_parts() ? recording : nullptr;
}

Occupancy PtSession::occupancy(std::size_t queue) {
  return occupancy_of(model().queues()[queue], model());
}

std::unique_ptr<image::CodeSource> PtSession::code(std::size_t, const Occupancy& occupancy) {
  std::vector<const image::CodeSource*> by_turn;
  for (const Occupant& who : occupancy.turns()) by_turn.push_back(spaces().user(who.space));
  return std::make_unique<SwitchedSource>(occupancy, std::move(by_turn), &spaces().kernel());
}

flow::Config PtSession::config(std::size_t, const Occupancy& occupancy) {
  const perfdata::PtConfig& pt = model().pt();
  flow::Config config;
  config.errata = errata_of(model().facts());
  config.mtc_freq = static_cast<std::uint8_t>(pt.mtc_period());
  config.tsc_ctc_numerator = pt.tsc_ctc_n;
  config.tsc_ctc_denominator = pt.tsc_ctc_d;
  config.max_nonturbo_ratio = pt.max_nonturbo_ratio;
  std::vector<AddressFilter> filters = parse_filters(pt.filter);
  for (const Occupant& who : occupancy.turns()) {
    if (filters.empty() || who.space == kNoSpace) continue;
    const auto& mappings = model().processes()[who.space].mappings;
    std::vector<flow::IpRange> more = filter_ranges(filters, mappings, model().files());
    config.filter.insert(config.filter.end(), more.begin(), more.end());
  }
  return config;
}

}  // namespace hodo::session
