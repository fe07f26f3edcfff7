#include "recording_names.h"

#include <algorithm>

#include "facts/ticks.h"
#include "hodo/symbol/demangle.h"

namespace hodo::session {
namespace {

// Times of 0 ask for the last state.
std::uint64_t or_last(std::uint64_t time) { return time == 0 ? perfdata::kForever - 1 : time; }

std::vector<std::uint64_t> execs_of(const perfdata::Model& recording,
                                    const perfdata::Process& process) {
  std::vector<std::uint64_t> out;
  for (const std::uint32_t thread : process.threads) {
    for (const perfdata::Named& named : recording.threads()[thread].names) {
      if (named.exec) out.push_back(ticks(recording.trace_clock(), named.from));
    }
  }
  std::ranges::sort(out);
  return out;
}

}  // namespace

RecordingNames::RecordingNames(const perfdata::Model& recording, Spaces& spaces)
    : recording_(recording), spaces_(spaces), kernel_(recording) {
  for (const perfdata::Process& process : recording.processes()) {
    execs_.push_back(execs_of(recording, process));
  }
}

Object RecordingNames::object(std::uint32_t space, std::uint64_t address,
                              std::uint64_t time) const {
  const Space* where = spaces_.of(space, address);
  const perfdata::Mapping* mapping =
      where == nullptr ? nullptr : where->mapping(address, or_last(time));
  if (mapping == nullptr) return {};
  // Code that was changed is called as what it was.
  if (const auto* by = spaces_.called_by(space, *mapping, address)) mapping = by;
  Object object{.offset = address - mapping->address + mapping->file_offset};
  if (mapping->file != perfdata::kNone) {
    object.path = recording_.files()[mapping->file].path;
    object.table = spaces_.files().symbols(mapping->file);
  }
  const auto kernel = object.path.empty() ? kernel_.at(address, or_last(time)) : std::nullopt;
  if (kernel) object.path = kernel->object;
  const std::string area(area_name(object.path));
  if (!area.empty()) object.path = area;
  if (!area.empty() || kernel) object.offset = address;
  return object;
}

std::vector<const symbol::SymbolTable*> RecordingNames::tables() const {
  std::vector<const symbol::SymbolTable*> out;
  for (std::uint32_t file = 0; file < recording_.files().size(); ++file) {
    if (const auto* table = spaces_.files().symbols(file)) out.push_back(table);
  }
  return out;
}

Place RecordingNames::place(std::uint32_t space, std::uint64_t address, std::uint64_t time) const {
  Place place = place_in(object(space, address, time));
  if (const auto kernel = kernel_.at(address, or_last(time)); kernel && place.symbol.empty()) {
    place.symbol = symbol::demangle(std::string(kernel->symbol));
    place.object = kernel->object;
    place.offset = place.symbol.empty() ? address : address - kernel->start;
    place.size = place.symbol.empty() ? 0 : kernel->size;
    return place;
  }
  const Space* where = place.symbol.empty() ? spaces_.of(space, address) : nullptr;
  if (where == nullptr) return place;
  if (auto made = where->jit_function(address, or_last(time))) {
    if (place.object.empty()) place.object = "[anon]";
    place.symbol = symbol::demangle(*made->name);
    place.offset = address - made->start;
    place.size = made->size;
  }
  return place;
}

std::uint32_t RecordingNames::generation(std::uint32_t space, std::uint64_t time) const {
  const Space* where = spaces_.user(space);
  const bool has_kernel = !recording_.kernel_mappings().empty();
  return (where == nullptr ? 0 : where->generation(or_last(time))) +
         (has_kernel ? spaces_.kernel().generation(or_last(time)) : 0);
}

std::uint32_t RecordingNames::naming(std::uint32_t space, std::uint64_t time) const {
  const Space* where = spaces_.user(space);
  const bool has_kernel = !recording_.kernel_mappings().empty();
  // The kernel tells names of code that it makes, at times of their own.
  return (where == nullptr ? 0 : where->naming(or_last(time))) +
         (has_kernel ? spaces_.kernel().generation(or_last(time)) : 0);
}

bool RecordingNames::may_name_more(std::uint32_t space) const {
  const Space* where = spaces_.user(space);
  return where == nullptr || where->names_made_code() || !kernel_.empty();
}

bool RecordingNames::replaced(std::uint32_t space, std::uint64_t after, std::uint64_t until) const {
  if (space >= execs_.size()) return false;
  const auto next = std::ranges::upper_bound(execs_[space], after);
  return next != execs_[space].end() && *next <= until;
}

Era RecordingNames::era(std::uint32_t space, std::uint64_t time) const {
  const Space* where = spaces_.user(space);
  const Era user = where == nullptr ? Era{} : where->era(or_last(time));
  if (recording_.kernel_mappings().empty()) return user;
  const Era kernel = spaces_.kernel().era(or_last(time));
  // Neither number ever falls, so that their sum tells any two times apart that one of them does.
  return {user.number + kernel.number, std::max(user.from, kernel.from),
          std::min(user.until, kernel.until)};
}

FileAround RecordingNames::file_around(std::uint32_t space, std::uint64_t address,
                                       std::uint64_t time) const {
  const Space* where = spaces_.of(space, address);
  if (where == nullptr) return {};
  const auto [mapping, around] = where->mapping_around(address, or_last(time));
  FileAround out{.first = around.first,
                 .last = around.last,
                 .from = around.valid_from,
                 .until = around.valid_until};
  if (mapping == nullptr || !spaces_.is_of_file(*mapping)) return out;
  const bool kept = mapping->kept != perfdata::kNone;
  out.start = mapping->address;
  out.part = {.file = mapping->file,
              .offset = mapping->file_offset,
              .size = mapping->size,
              .bytes = kept ? where->find(address, or_last(time)).content : 0};
  return out;
}

}  // namespace hodo::session
