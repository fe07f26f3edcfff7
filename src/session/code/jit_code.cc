#include "jit_code.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "facts/ticks.h"
#include "hodo/image/file.h"

namespace hodo::session {
namespace {

constexpr std::uint64_t kLargestFile = std::uint64_t{1} << 30;
// Later functions at an address whose clock has not come as far; see Space::find.
constexpr int kLaterFunctions = 4;

// Empty where the file is not there, or of somebody else.
std::vector<std::uint8_t> contents_of(const std::string& path) {
  auto file = image::RegularFile::open(path);
  struct stat facts{};
  if (!file || fstat(file->fd(), &facts) != 0) return {};
  if (facts.st_uid != 0 && facts.st_uid != geteuid()) return {};
  if (file->size() > kLargestFile) return {};
  // Its program may be writing it anew: what is there counts.
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(file->size()));
  bytes.resize(file->read_at(0, bytes).value_or(0));
  return bytes;
}

}  // namespace

JitCode::JitCode(const perfdata::Process& process, const perfdata::Model& recording,
                 const Files& files, image::ContentStore& kept) {
  if (read_dump(process, recording, files, kept)) return;
  const auto map = files.unnamed_place("/tmp/perf-" + std::to_string(process.pid) + ".map");
  if (map) read_map(*map, kept);
}

bool JitCode::read_dump(const perfdata::Process& process, const perfdata::Model& recording,
                        const Files& files, image::ContentStore& kept) {
  // perf finds it in the same way (jit_detect in tools/perf/util/jitdump.c).
  const std::string name = "/jit-" + std::to_string(process.pid) + ".dump";
  for (const perfdata::Mapping& mapping : process.mappings) {
    if (mapping.file == perfdata::kNone) continue;
    const std::string& path = recording.files()[mapping.file].path;
    const auto place = path.ends_with(name) ? files.place(path) : std::nullopt;
    if (!place) continue;
    const std::vector<std::uint8_t> bytes = contents_of(*place);
    auto dump = symbol::read_jitdump(bytes);
    if (!dump) continue;
    for (const symbol::JitFunction& function : dump->functions) {
      add(function, dump->ticks ? function.time : ticks(recording.trace_clock(), function.time),
          kept);
    }
    return true;
  }
  return false;
}

void JitCode::read_map(const std::string& path, image::ContentStore& kept) {
  for (const symbol::JitFunction& f : symbol::read_perf_map(contents_of(path))) add(f, 0, kept);
}

void JitCode::add(const symbol::JitFunction& function, std::uint64_t time,
                  image::ContentStore& kept) {
  names_.cover(function.address, function.address + (function.size - 1), time,
               static_cast<image::Timeline::Value>(functions_.size()));
  if (!function.code.empty()) {
    if (auto copy = kept.memory(function.code)) {
      code_.map(function.address, function.size, *std::move(copy), time);
    }
  }
  if (time != 0) changes_.push_back(time);
  functions_.push_back(function);
  functions_.back().code = {};
}

image::CodeSpan JitCode::find(std::uint64_t address, std::uint64_t time) const {
  image::CodeSpan first = code_.find(address, time);
  image::CodeSpan span = first;
  for (int i = 0; i < kLaterFunctions && span.content == 0; ++i) {
    if (span.valid_until == image::Timeline::kEnd) return first;
    span = code_.find(address, span.valid_until);
  }
  if (span.content != 0) span.valid_from = first.valid_from;
  return span;
}

std::optional<JitCode::Named> JitCode::at(std::uint64_t address, std::uint64_t time) const {
  image::Timeline::Answer answer = names_.find(address, time);
  for (int i = 0; i < kLaterFunctions && answer.value == image::Timeline::kNothing; ++i) {
    if (answer.valid_until == image::Timeline::kEnd) return std::nullopt;
    answer = names_.find(address, answer.valid_until);
  }
  if (answer.value == image::Timeline::kNothing) return std::nullopt;
  const symbol::JitFunction& function = functions_[answer.value];
  return Named{&function.name, function.address, function.size};
}

}  // namespace hodo::session
