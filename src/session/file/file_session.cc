#include "file_session.h"

#include <algorithm>
#include <utility>

#include "facts/facts_of.h"
#include "facts/recorder_facts.h"
#include "facts/ticks.h"
#include "hodo/perfdata/kernel_symbols.h"
#include "stream/checked_trace.h"
#include "stream/trace_parts.h"

namespace hodo::session {

Result<OpenedFile> OpenedFile::open(const std::string& path, Files::Where where) {
  auto reader = perfdata::Reader::open(path);
  if (!reader) return std::unexpected(reader.error());
  auto kept = std::make_unique<perfdata::Reader>(std::move(*reader));
  auto model = perfdata::Model::load(*kept);
  if (!model) return std::unexpected(model.error());
  return OpenedFile{path, std::move(kept), std::move(*model), std::move(where)};
}

FileSession::FileSession(OpenedFile file)
    : path_(std::move(file.path)),
      reader_(std::move(file.reader)),
      model_(std::move(file.model)),
      facts_(facts_of(model_)),
      spaces_(model_, std::move(file.where)),
      names_(model_, spaces_),
      regions_(model_, spaces_) {
  for (const perfdata::AuxQueue& queue : model_.queues()) {
    queues_.push_back({queue.pid, queue.tid, queue.cpu, queue.bytes});
  }
}

TraceKind FileSession::trace() const {
  switch (model_.trace()) {
    case perfdata::TraceKind::none:
      return TraceKind::none;
    case perfdata::TraceKind::intel_pt:
      return TraceKind::pt;
    case perfdata::TraceKind::intel_bts:
      return TraceKind::bts;
    case perfdata::TraceKind::branch_stacks:
      return TraceKind::stacks;
  }
  std::unreachable();
}

std::vector<KernelSymbol> FileSession::kernel_symbols() const {
  std::vector<KernelSymbol> out;
  for (perfdata::KernelSymbol& symbol : perfdata::read_kernel_symbols(*reader_)) {
    out.push_back({symbol.address, symbol.size, std::move(symbol.name)});
  }
  return out;
}

std::size_t FileSession::read_code(std::uint32_t space, std::uint64_t address, std::uint64_t time,
                                   std::span<std::uint8_t> out) {
  const Space* where = spaces_.of(space, address);
  return where == nullptr ? 0 : image::read_code(*where, address, time, out);
}

// By where the program lies, or by its files. Another one that exec runs may be of another width.
const FileSession::Modes& FileSession::modes(std::uint32_t space) {
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

isa::Mode FileSession::mode(std::uint32_t space, std::uint64_t time) {
  const Modes& all = modes(space);
  if (all.empty()) return isa::Mode::bits64;
  const auto after = all.upper_bound(time);
  return after == all.begin() ? after->second : std::prev(after)->second;
}

std::uint64_t FileSession::next_mode(std::uint32_t space, std::uint64_t time) {
  const Modes& all = modes(space);
  const auto after = all.upper_bound(time);
  return after == all.end() ? perfdata::kForever : after->first;
}

std::uint32_t FileSession::queue_of(std::int32_t tid) const {
  const auto found = std::ranges::find(queues_, tid, &Queue::tid);
  return found == queues_.end() ? 0 : static_cast<std::uint32_t>(found - queues_.begin());
}

std::vector<LossLine> FileSession::input_losses() const {
  LossTally tally;
  if (!model_.finished() && !model_.growing()) {
    tally.add(causes::kUnfinished, {.reason = "the recording was not completed"});
  }
  RecorderFacts facts = recorder_facts(model_.facts());
  if (!facts.readable) {
    tally.add(causes::kDamaged, {.reason = "what the recorder says of this recording (feature 255) "
                                           "cannot be read, nor what it knew to be missing"});
  }
  for (std::string& line : facts.unrecorded) {
    tally.add(causes::kNotRecorded, {.reason = std::move(line)});
  }
  for (OverwrittenChannel& one : facts.overwritten) {
    tally.add(causes::kChannelOverwritten,
              {.who = {.queue = queue_of(one.tid), .pid = one.pid, .tid = one.tid},
               .offset = one.offset,
               .time = ticks(model_.trace_clock(), one.time),
               .reason = "the program wrote over the memory that its trace is handed over in, and "
                         "from here on nothing is known of this thread: " +
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

Status FileSession::read_aux(std::uint64_t offset, std::span<std::uint8_t> out) const {
  return reader_->read(offset, out);
}

std::vector<Part> FileSession::aux_parts(std::size_t queue) const {
  return written_parts(model_.queues()[queue]);
}

Result<std::vector<Part>> FileSession::unaltered_parts(std::size_t queue) const {
  return session::unaltered_parts(*reader_, model_.queues()[queue]);
}

std::unique_ptr<TraceReader> FileSession::checked_trace(std::size_t queue,
                                                        StreamRange range) const {
  return std::make_unique<CheckedTrace>(*reader_, model_.queues()[queue], range);
}

std::optional<Explanation> FileSession::explain_missing(const Context& who,
                                                        const flow::Loss& loss) {
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
