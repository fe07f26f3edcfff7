#include "files.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "facts/recorder_facts.h"
#include "hodo/image/elf.h"
#include "hodo/perfdata/guest_path.h"

namespace hodo::session {
namespace {

using perfdata::kOfGuest;

// Where perf keeps copies of what it recorded (build_id_cache__filename in tools/perf).
std::string cached_copy(const perfdata::BuildId& id) {
  const char* home = std::getenv("HOME");
  if (home == nullptr || id.size < 2) return "";
  std::string hex = image::to_hex(id.view());
  return std::string(home) + "/.debug/.build-id/" + hex.substr(0, 2) + "/" + hex.substr(2) + "/elf";
}

bool has_build_id(const image::Elf& elf, const perfdata::BuildId& id) {
  return std::ranges::equal(elf.build_id, id.view());
}

// What a program made for itself and gave no name, O_TMPFILE's "/tmp/#123 (deleted)", or took it
// away again, shm_open's "/dev/shm/NAME (deleted)" (d_path() in Linux). Other files that are gone
// had a name for others, too, as libraries that were replaced; but those a loader maps as its own
// copy, and what is shared with a file that nobody else can open is memory.
bool is_without_name(std::string_view path, bool shared) {
  constexpr std::string_view kGone = " (deleted)";
  if (!path.ends_with(kGone)) return false;
  path.remove_suffix(kGone.size());
  if (shared || path.starts_with("/dev/shm/")) return true;
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return name.starts_with('#') && name.size() > 1 &&
         name.find_first_not_of("0123456789", 1) == name.npos;
}

}  // namespace

bool names_a_file(std::string_view path, bool shared) {
  if (path.starts_with(kOfGuest)) path.remove_prefix(kOfGuest.size());
  if (is_without_name(path, shared)) return false;
  return path.starts_with('/') && !path.starts_with("//") && !path.starts_with("/dev/zero") &&
         !path.starts_with("/memfd:") && !path.starts_with("/SYSV");
}

std::string_view area_name(std::string_view path) {
  if (path.empty() || path.starts_with("//anon")) return "[anon]";
  return path == "[anon]" || path == "[stack]" || path == "[heap]" ? path : std::string_view();
}

Files::Files(const perfdata::Model& recording, Where where)
    : recording_(recording),
      files_(recording.files()),
      of_guest_(of_guest(recording)),
      where_(std::move(where)),
      known_(files_.size()) {}

std::optional<std::string> Files::place(std::string_view path) const {
  const bool guests = path.starts_with(kOfGuest);
  if (guests) path.remove_prefix(kOfGuest.size());
  if (guests && where_.symfs.empty()) return std::nullopt;
  return where_.symfs + std::string(path);
}

std::optional<std::string> Files::unnamed_place(std::string_view path) const {
  if (of_guest_ && where_.symfs.empty()) return std::nullopt;
  return where_.symfs + std::string(path);
}

// A file that was gone when the recording ended, in memory that can be opened like any other file;
// empty where the recording does not hold it.
std::string Files::held_place(const perfdata::File& file) {
  const auto& all = recording_.facts().whole_files;
  const auto is_it = [&](const perfdata::WholeFile& one) {
    const bool same =
        file.build_id.size != 0 ? one.build_id == file.build_id : one.inode == file.inode;
    return same && one.path == file.path;
  };
  const auto found = std::ranges::find_if(all, is_it);
  if (found == all.end()) return "";
  Fd memory(memfd_create("hodo-file", MFD_CLOEXEC));
  std::vector<std::uint8_t> bytes(std::min<std::uint64_t>(found->size, std::uint64_t{1} << 20));
  for (std::uint64_t done = 0; done < found->size; done += bytes.size()) {
    bytes.resize(std::min<std::uint64_t>(bytes.size(), found->size - done));
    if (!recording_.reader().read(found->offset + done, bytes)) return "";
    const auto offset = static_cast<off_t>(done);
    const auto size = static_cast<ssize_t>(bytes.size());
    if (pwrite(memory.get(), bytes.data(), bytes.size(), offset) != size) return "";
  }
  return fmt::format("/proc/self/fd/{}", held_.emplace_back(std::move(memory)).get());
}

void Files::look(std::uint32_t index) {
  const perfdata::File& file = files_[index];
  Known& known = known_[index];
  if (!names_a_file(file.path, false)) {
    known.state = State::no_file;
    return;
  }
  known.location = held_place(file);
  if (!known.location.empty()) {
    known.state = State::good;
    return;
  }
  const std::optional<std::string> path = place(file.path);
  if (!path) {
    known.state = State::missing;
    known.trouble = file.path + " is a guest's file; --symfs says where those are";
    return;
  }
  known.state = State::good;
  known.location = *path;
  if (file.build_id.size == 0) return;
  auto elf = image::read_elf_file(*path);
  if (elf && has_build_id(*elf, file.build_id)) return;
  std::string copy = cached_copy(file.build_id);
  if (auto cached = image::read_elf_file(copy); cached && has_build_id(*cached, file.build_id)) {
    known.location = copy;
    return;
  }
  known.location.clear();
  if (!elf && elf.error().code != ErrorCode::malformed) {
    known.state = State::missing;
    known.trouble = elf.error().message;
    return;
  }
  known.state = State::changed;
  std::string now = elf ? image::to_hex(elf->build_id) : "";
  known.trouble = *path + " is not the file that ran: its build-id is " +
                  (now.empty() ? "absent" : now) + ", recorded was " +
                  image::to_hex(file.build_id.view());
}

image::Slice Files::slice(std::uint32_t index, std::uint64_t offset, std::uint64_t length) {
  if (index >= known_.size()) return {};
  const std::lock_guard lock(reading_);
  Known& known = known_[index];
  if (known.state == State::untried) look(index);
  if (known.state != State::good) return {};
  auto slice = store_.file(known.location, offset, length);
  if (slice) {
    if (slice->content) known.content = slice->content;
    return *slice;
  }
  known.state = State::missing;
  known.trouble = slice.error().message;
  known.location.clear();
  return {};
}

Files::State Files::state(std::uint32_t index) const {
  const Known& known = known_[index];
  const bool spoilt = known.state == State::good && !trouble(index).empty();
  return spoilt ? State::changed : known.state;
}

std::string Files::trouble(std::uint32_t index) const {
  const Known& known = known_[index];
  if (!known.trouble.empty() || known.content == nullptr) return known.trouble;
  const std::string later = known.content->trouble();
  return later.empty() ? "" : files_[index].path + ": " + later;
}

const symbol::SymbolTable* Files::symbols(std::uint32_t index) {
  if (index >= known_.size()) return nullptr;
  const std::lock_guard lock(reading_);
  Known& known = known_[index];
  if (known.state == State::untried) look(index);
  if (known.state != State::good) return nullptr;
  if (!known.symbols_tried) {
    known.symbols_tried = true;
    auto table =
        symbol::SymbolTable::open(known.location, {.sources = where_.sources}, where_.lines);
    if (table) known.symbols = *std::move(table);
  }
  return known.symbols.get();
}

}  // namespace hodo::session
