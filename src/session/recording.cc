#include "recording.h"

#include <algorithm>
#include <cstdio>

#include "pt/filter_ranges.h"
#include "pt/switched_source.h"
#include "recorder_facts.h"
#include "ticks.h"

namespace hodo::session {
namespace {

// Of the processor that the file names. They do no harm to what a software trace unit wrote there,
// which makes none of these mistakes.
pt::Errata errata_of(const perfdata::FileFacts& facts) {
  unsigned family = 0, model = 0;
  if (std::sscanf(facts.cpuid.c_str(), "GenuineIntel,%u,%u", &family, &model) != 2) return {};
  return pt::errata_of(family, model);
}

// Where data is missing behind `event`, in the queue's stream.
bool truncates(const perfdata::AuxEvent& event) {
  return (event.flags & PERF_AUX_FLAG_TRUNCATED) != 0;
}

// Offsets at which the stream must be cut: behind each AUX record whose end was lost.
std::vector<std::uint64_t> cuts_of(const perfdata::AuxQueue& queue) {
  std::vector<std::uint64_t> cuts;
  for (const perfdata::AuxEvent& event : queue.flagged) {
    if (truncates(event)) cuts.push_back(event.aux_offset + event.aux_size);
  }
  std::ranges::sort(cuts);
  return cuts;
}

// Appends a piece, divided where data was lost inside of it.
void append_parts(std::vector<Part>& parts, Part part, const std::vector<std::uint64_t>& cuts) {
  auto cut = std::ranges::lower_bound(cuts, part.offset);
  if (cut != cuts.end() && *cut == part.offset) part.gap_before = !parts.empty();
  cut = std::ranges::upper_bound(cuts, part.offset);
  for (; cut != cuts.end() && *cut - part.offset < part.size; ++cut) {
    const std::uint64_t size = *cut - part.offset;
    if (size == 0) continue;
    Part head = part;
    head.size = size;
    parts.push_back(head);
    part = {.file_offset = part.file_offset + size,
            .size = part.size - size,
            .offset = *cut,
            .gap_before = true};
  }
  parts.push_back(part);
}

}  // namespace

Result<std::unique_ptr<Recording>> Recording::open(const std::string& path,
                                                   const std::string& symfs) {
  auto reader = perfdata::Reader::open(path);
  if (!reader) return std::unexpected(reader.error());
  auto kept = std::make_unique<perfdata::Reader>(std::move(*reader));
  auto model = perfdata::Model::load(*kept);
  if (!model) return std::unexpected(model.error());
  return std::unique_ptr<Recording>(new Recording(path, std::move(kept), std::move(*model), symfs));
}

Recording::Recording(std::string path, std::unique_ptr<perfdata::Reader> reader,
                     perfdata::Model model, std::string symfs)
    : path_(std::move(path)),
      reader_(std::move(reader)),
      model_(std::move(model)),
      spaces_(model_, std::move(symfs)),
      names_(model_, spaces_),
      regions_(model_, spaces_) {
  for (const perfdata::AuxQueue& queue : model_.queues()) {
    queues_.push_back({queue.pid, queue.tid, queue.cpu, queue.bytes});
  }
}

std::size_t Recording::read_code(std::uint32_t space, std::uint64_t address, std::uint64_t time,
                                 std::span<std::uint8_t> out) {
  const Space* where = spaces_.of(space, address);
  return where == nullptr ? 0 : image::read_code(*where, address, time, out);
}

// By where the program lies, or by its files. Another one that exec runs may be of another width.
const Recording::Modes& Recording::modes(std::uint32_t space) {
  const auto [it, fresh] = modes_.try_emplace(space);
  Modes& out = it->second;
  if (!fresh || space >= model_.processes().size()) return out;
  for (const perfdata::Mapping& mapping : model_.processes()[space].mappings) {
    if (!mapping.executable) continue;
    isa::Mode mode = isa::Mode::bits64;
    if (mapping.address >> 32 == 0) {
      if (mapping.file == perfdata::kNone) continue;
      const symbol::SymbolTable* table = spaces_.files().symbols(mapping.file);
      if (table == nullptr) continue;
      const bool narrow = table->elf().elf_class == image::ElfClass::elf32;
      if (narrow) mode = isa::Mode::bits32;
    }
    const auto after = out.upper_bound(mapping.from);
    if (after == out.begin() || std::prev(after)->second != mode) out[mapping.from] = mode;
  }
  return out;
}

isa::Mode Recording::mode(std::uint32_t space, std::uint64_t time) {
  const Modes& all = modes(space);
  if (all.empty()) return isa::Mode::bits64;
  const auto after = all.upper_bound(time);
  return after == all.begin() ? after->second : std::prev(after)->second;
}

std::uint64_t Recording::next_mode(std::uint32_t space, std::uint64_t time) {
  const Modes& all = modes(space);
  const auto after = all.upper_bound(time);
  return after == all.end() ? perfdata::kForever : after->first;
}

std::uint32_t Recording::queue_of(std::int32_t tid) const {
  const auto found = std::ranges::find(queues_, tid, &Queue::tid);
  return found == queues_.end() ? 0 : static_cast<std::uint32_t>(found - queues_.begin());
}

std::vector<LossLine> Recording::input_losses() const {
  LossTally tally;
  if (!model_.finished()) {
    tally.add(causes::kUnfinished, {.reason = "the recording was not completed"});
  }
  RecorderFacts facts = recorder_facts(model_.facts());
  if (!facts.readable) {
    tally.add(causes::kDamaged, {.reason = "what the recorder says of this recording (feature 255)"
                                           " cannot be read, nor what it knew to be missing"});
  }
  for (std::string& line : facts.unrecorded) {
    tally.add(causes::kNotRecorded, {.reason = std::move(line)});
  }
  for (OverwrittenChannel& one : facts.overwritten) {
    tally.add(causes::kChannelOverwritten,
              {.who = {.queue = queue_of(one.tid), .pid = one.pid, .tid = one.tid},
               .offset = one.offset,
               .time = ticks(model_.trace_clock(), one.time),
               .reason = "the program wrote over the memory that its trace is handed over in, and"
                         " from here on nothing is known of this thread: " +
                         one.what});
  }
  for (const perfdata::Damage& damage : model_.damages()) {
    tally.add(causes::kDamaged, {.offset = damage.offset, .reason = damage.what});
  }
  std::uint64_t listed = model_.damages().size();
  if (model_.damage_count() > listed) {
    tally.add(causes::kDamaged, {.reason = "more of the same"}, 0, model_.damage_count() - listed);
  }
  for (const perfdata::LostRecords& lost : model_.lost()) {
    tally.add(causes::kLostRecords,
              {.who = {.cpu = lost.cpu}, .offset = lost.offset, .reason = "records were dropped"},
              0, lost.count);
  }
  for (std::uint32_t i = 0; i < model_.queues().size(); ++i) {
    const perfdata::AuxQueue& queue = model_.queues()[i];
    for (const perfdata::AuxEvent& event : queue.flagged) {
      if (!truncates(event)) continue;
      Context who{.queue = i, .pid = queue.pid, .tid = queue.tid, .cpu = queue.cpu};
      tally.add(causes::kAuxTruncated, {.who = who,
                                        .offset = event.aux_offset + event.aux_size,
                                        .time = ticks(model_.trace_clock(), event.time),
                                        .reason = "the trace buffer was full"});
    }
  }
  return tally.lines();
}

Status Recording::decodable() const {
  if (model_.trace() == perfdata::TraceKind::intel_pt) return {};
  if (!model_.damages().empty()) {
    const perfdata::Damage& first = model_.damages().front();
    return fail(ErrorCode::unsupported, "no branch trace can be read: " + first.what, first.offset);
  }
  return fail(ErrorCode::unsupported,
              "holds no branch trace; record with 'hodo record' or 'perf record -e intel_pt//u'");
}

Status Recording::read_trace(std::uint64_t offset, std::span<std::uint8_t> out) {
  return reader_->read(offset, out);
}

std::vector<Part> Recording::parts(std::size_t queue) {
  const perfdata::AuxQueue& aux = model_.queues()[queue];
  std::vector<std::uint64_t> cuts = cuts_of(aux);
  std::vector<Part> parts;
  std::uint64_t end = 0;
  for (const perfdata::AuxPiece& piece : aux.pieces) {
    Part part{.file_offset = piece.file_offset,
              .size = piece.size,
              .offset = piece.aux_offset,
              .gap_before = piece.gap_before};
    if (piece.gap_before && piece.aux_offset > end) part.lost_before = piece.aux_offset - end;
    append_parts(parts, part, cuts);
    end = piece.aux_offset + piece.size;
  }
  return parts;
}

Occupancy Recording::occupancy(std::size_t queue) {
  return occupancy_of(model_.queues()[queue], model_);
}

std::unique_ptr<image::CodeSource> Recording::code(std::size_t, const Occupancy& occupancy) {
  std::vector<const image::CodeSource*> by_turn;
  for (const Occupant& who : occupancy.turns()) by_turn.push_back(spaces_.user(who.space));
  return std::make_unique<SwitchedSource>(occupancy, std::move(by_turn), &spaces_.kernel());
}

flow::Config Recording::config(std::size_t, const Occupancy& occupancy) {
  const perfdata::PtConfig& pt = model_.pt();
  flow::Config config;
  config.errata = errata_of(model_.facts());
  config.mtc_freq = static_cast<std::uint8_t>(pt.mtc_period());
  config.tsc_ctc_numerator = pt.tsc_ctc_n;
  config.tsc_ctc_denominator = pt.tsc_ctc_d;
  config.max_nonturbo_ratio = pt.max_nonturbo_ratio;
  std::vector<AddressFilter> filters = parse_filters(pt.filter);
  for (const Occupant& who : occupancy.turns()) {
    if (filters.empty() || who.space == kNoSpace) continue;
    const auto& mappings = model_.processes()[who.space].mappings;
    std::vector<flow::IpRange> more = filter_ranges(filters, mappings, model_.files());
    config.filter.insert(config.filter.end(), more.begin(), more.end());
  }
  return config;
}

std::optional<Explanation> Recording::explain(const Context& who, const flow::Loss& loss) {
  if (loss.cause != flow::LossCause::no_code || loss.ip == 0) return std::nullopt;
  if (loss.ip >> 63 != 0) return Explanation{causes::kKernelCode, loss.reason};
  const Space* space = spaces_.of(who.space, loss.ip);
  const perfdata::Mapping* mapping =
      space == nullptr ? nullptr : space->mapping(loss.ip, loss.time);
  if (mapping == nullptr || mapping->file == perfdata::kNone) return std::nullopt;
  switch (spaces_.files().state(mapping->file)) {
    case Files::State::missing:
      return Explanation{causes::kFileMissing, spaces_.files().trouble(mapping->file)};
    case Files::State::changed:
      return Explanation{causes::kFileChanged, spaces_.files().trouble(mapping->file)};
    default:
      return std::nullopt;
  }
}

}  // namespace hodo::session
