#include "hodo/session/loss.h"

#include <algorithm>
#include <array>
#include <utility>

#include "facts/recorder_facts.h"

namespace hodo::session {
namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 23> kRemedies{{
    {"head-cut",
     "usual for a snapshot or a trace cut out of a longer one: what came before the first PSB "
     "packet cannot be decoded"},
    {"overflow",
     "the trace source could not keep up: narrow the recording with --filter, or turn timing "
     "packets off; at the end of a thread that was killed on the engine (--source dbi) it is what "
     "was in no packet yet; under QEMU it may also be a jump that no branch or signal explains, which "
     "hodo record warns of"},
    {"bad-packet", "the trace is damaged there; decoding goes on at the next PSB packet"},
    {"truncated", "the trace ends inside a packet: the recording was cut off"},
    {"no-code",
     "code was executed that is in no known file: give raw traces its bytes with --image, and "
     "record programs that generate code with hodo record"},
    {"bad-code", "the bytes known for this address are no code: the file or image is not what ran"},
    {"impossible-outcome",
     "the code known for this address is not what ran; check that files and images are those of "
     "the recording"},
    {"endless-loop",
     "the code known for this address is not what ran; check that files and images are those of "
     "the recording"},
    {"filter-mismatch", "give the address filter that was active while recording with --filter"},
    {"bad-time",
     "the trace is damaged before that place: the times of branches up to there, and the code that "
     "was looked up by them, may be wrong"},
    {"recorder-lost",
     "where nothing says that the file is damaged or that somebody traced the process, the buffer "
     "overflowed: record with a larger one, or narrow the recording with --filter"},
    {"lost-call",
     "follows from the losses before it: where they end, nobody knows which calls are open"},
    {"altered",
     "the file was changed after it was recorded: what is left of it was read; take a copy of it "
     "that is whole"},
    {causes::kFileMissing, "put the file back, or run this command on the machine that recorded"},
    {causes::kFileChanged,
     "the file on disk is not the one that ran: record again, or put back the old file (also "
     "looked for in ~/.debug)"},
    {causes::kKernelCode,
     "the kernel's code is in no file that hodo reads: record user space only, with hodo record or "
     "-e intel_pt//u"},
    {causes::kUnfinished,
     "the recorder died, or is perf and still runs; all that it had written was read"},
    {causes::kNotRecorded,
     "what is named there ran without being recorded: neither the path nor any verdict covers it"},
    {causes::kChannelOverwritten,
     "the program works against its recording: take no verdict on what it did from there on. A "
     "virtual machine is recorded from outside, where its programs cannot reach (hodo vm record)"},
    {causes::kDamaged, "the file is damaged there; what is behind the damage was read"},
    {causes::kAuxTruncated,
     "the buffer overflowed: record with a larger one, or narrow the recording with --filter"},
    {causes::kGap,
     "branches are missing there (an interrupt or signal that was not recorded, a full buffer), or "
     "the code known for these addresses is not what ran"},
    {causes::kLostRecords,
     "the kernel dropped records about processes and mappings: record with a larger buffer (perf "
     "record -m)"},
}};

}  // namespace

std::string_view remedy(std::string_view cause) {
  for (auto [name, text] : kRemedies) {
    if (name == cause) return text;
  }
  return "";
}

void LossTally::add(std::string_view cause, LossSite site, std::uint64_t bytes,
                    std::uint64_t count) {
  auto line = std::ranges::find(lines_, cause, &LossLine::cause);
  if (line == lines_.end()) {
    line = lines_.insert(
        line, LossLine{.cause = std::string(cause), .remedy = std::string(remedy(cause))});
  }
  line->count += count;
  line->bytes += bytes;
  if (line->sites.size() < kSites) line->sites.push_back(std::move(site));
}

void LossTally::take(LossLine line) {
  // The first site carries the counts, the others only themselves.
  if (line.sites.empty()) line.sites.emplace_back();
  for (LossSite& site : line.sites) {
    add(line.cause, std::move(site), std::exchange(line.bytes, 0), std::exchange(line.count, 0));
  }
}

void LossTally::more(std::string_view cause, std::uint64_t count) {
  auto line = std::ranges::find(lines_, cause, &LossLine::cause);
  if (line != lines_.end()) line->count += count;
}

}  // namespace hodo::session
