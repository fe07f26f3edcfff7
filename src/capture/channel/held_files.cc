#include "held_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <limits.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "hodo/image/elf.h"
#include "hodo/image/file.h"

namespace hodo::capture {
namespace {

bool is_there(const std::string& path, dev_t device, ino_t inode) {
  struct stat st{};
  return stat(path.c_str(), &st) == 0 && st.st_dev == device && st.st_ino == inode;
}

Fd place_of(const std::string& path) { return Fd(open(path.c_str(), O_PATH | O_CLOEXEC)); }

// Asks nobody who serves it.
std::pair<dev_t, ino_t> known_identity(const Fd& place) {
  struct statx known{};
  constexpr int kHow = AT_EMPTY_PATH | AT_STATX_DONT_SYNC;
  if (!place || statx(place.get(), "", kHow, STATX_INO, &known) != 0) return {};
  return {makedev(known.stx_dev_major, known.stx_dev_minor), known.stx_ino};
}

std::string map_files_of(pid_t pid, const perfdata::Mmap& mapping) {
  return fmt::format("/proc/{}/map_files/{:x}-{:x}", pid, mapping.address,
                     mapping.address + mapping.size);
}

}  // namespace

void HeldFiles::hold_program(pid_t pid) {
  const std::string link = fmt::format("/proc/{}/exe", pid);
  std::array<char, PATH_MAX> path{};
  const ssize_t length = readlink(link.c_str(), path.data(), path.size());
  if (length <= 0) return;
  std::string name(path.data(), static_cast<std::size_t>(length));
  Fd place = place_of(link);
  const auto [device, inode] = known_identity(place);
  if (!is_served(device, inode, pid)) return hold(place, std::move(name));
  if (files_.size() >= kMostFiles) return;
  const auto [at, fresh] = files_.try_emplace({device, inode, std::move(name)});
  if (!fresh) return;
  at->second.copy = copies_.make();
  if (at->second.copy == nullptr) return;
  copies_.fill(at->second.copy, {.place = std::move(place), .inode = inode}, 0, 0);
}

bool HeldFiles::is_served(dev_t device, ino_t inode, pid_t pid) {
  constexpr std::size_t kMost = 4096;
  if (served_.size() >= kMost) served_.clear();
  const auto [at, fresh] = served_.try_emplace({device, inode});
  if (fresh) at->second = capture::is_served(device, pid);
  return at->second;
}

// Nothing but regular files is opened.
void HeldFiles::hold(const Fd& place, std::string path) {
  struct stat st{};
  if (!place || fstat(place.get(), &st) != 0 || !S_ISREG(st.st_mode)) return;
  Fd file(open(fmt::format("/proc/self/fd/{}", place.get()).c_str(), O_RDONLY | O_CLOEXEC));
  if (!file || files_.size() >= kMostFiles) return;
  const auto [at, fresh] = files_.try_emplace({st.st_dev, st.st_ino, std::move(path)});
  if (fresh) at->second.file = std::move(file);
}

// By path and inode: the mapping's device is another one with some file systems (btrfs).
HeldFiles::Held* HeldFiles::find(const perfdata::Mmap& mapping) {
  const auto found = std::find_if(files_.begin(), files_.end(), [&](const auto& one) {
    return one.first.inode == mapping.inode && one.first.path == mapping.path;
  });
  return found == files_.end() ? nullptr : &found->second;
}

// By its path; as its process sees it; by the mapping itself, of a file that is gone already.
HeldFiles::Held* HeldFiles::hold_mapped(const perfdata::Mmap& mapping, pid_t pid,
                                        const ProcessRoot& root) {
  const std::string path(mapping.path);
  hold(place_of(path), path);
  if (Held* held = find(mapping)) return held;
  hold(root.find(path), path);
  if (Held* held = find(mapping)) return held;
  hold(place_of(map_files_of(pid, mapping)), path);
  return find(mapping);
}

HeldFiles::Held* HeldFiles::copy_mapped(const perfdata::Mmap& mapping) {
  auto copy = copies_.make();
  if (copy == nullptr) return nullptr;
  const dev_t device = makedev(mapping.maj, mapping.min);
  Held& held = files_[{device, mapping.inode, std::string(mapping.path)}];
  held.copy = std::move(copy);
  return &held;
}

void HeldFiles::copy(std::pair<dev_t, ino_t> which, Fd file, Fd waits) {
  const auto found = std::ranges::find_if(files_, [&](const auto& one) {
    const auto& [identity, held] = one;
    return std::pair(identity.device, identity.inode) == which && held.copy != nullptr &&
           !held.mappings.empty();
  });
  if (file && found != files_.end()) {
    const Mapped& last = found->second.mappings.back();
    copies_.fill(found->second.copy, {.file = std::move(file)}, last.offset, last.size);
  }
  copies_.say_done(std::move(waits));
}

Status HeldFiles::note(const perfdata::Mmap& mapping, const perfdata::Stamp& stamp,
                       const ProcessRoot& root, perfdata::Writer& writer, Rounds& rounds) {
  if ((mapping.prot & PROT_EXEC) == 0 || mapping.inode == 0) return {};
  if (!mapping.path.starts_with('/') || mapping.path.starts_with("//")) return {};
  Held* held = find(mapping);
  if (held == nullptr) {
    if (files_.size() >= kMostFiles) {
      if (const auto status = keep_missing(writer, rounds); !status) return status;
    }
    const dev_t device = makedev(mapping.maj, mapping.min);
    held = is_served(device, mapping.inode, stamp.pid) ? copy_mapped(mapping)
                                                       : hold_mapped(mapping, stamp.pid, root);
    if (held == nullptr) return {};
  }
  if (held->copy != nullptr) {
    const std::string path(mapping.path);
    copies_.fill(held->copy,
                 {.place = place_of(map_files_of(stamp.pid, mapping)),
                  .paths = {path, fmt::format("/proc/{}/root{}", stamp.pid, path)},
                  .inode = mapping.inode},
                 mapping.file_offset, mapping.size);
  }
  held->mappings.push_back({stamp, mapping.address, mapping.size, mapping.file_offset});
  return {};
}

void HeldFiles::sent(std::uint64_t address, const perfdata::Stamp& stamp) {
  for (auto& [identity, held] : files_) {
    if (!identity.path.ends_with(" (deleted)")) continue;
    std::erase_if(held.mappings, [&](const Mapped& one) {
      return one.stamp.pid == stamp.pid && one.stamp.time == stamp.time &&
             address - one.address < one.size;
    });
  }
}

std::string HeldFiles::way_to(const perfdata::Mmap& mapping) {
  const Held* held = find(mapping);
  if (held != nullptr) return held->copy == nullptr ? way_to(*held) : "";
  struct stat st{};
  std::string path(mapping.path);
  const bool there = stat(path.c_str(), &st) == 0;
  return there && (mapping.inode == 0 || st.st_ino == mapping.inode) ? path : std::string();
}

int HeldFiles::descriptor(const Held& held) {
  return held.copy == nullptr ? held.file.get() : FileCopies::descriptor(*held.copy);
}

std::string HeldFiles::way_to(const Held& held) {
  return fmt::format("/proc/self/fd/{}", descriptor(held));
}

Status HeldFiles::let_go(dev_t device, perfdata::Writer& writer, Rounds& rounds) {
  copies_.wait(kPatience);
  for (auto at = files_.begin(); at != files_.end();) {
    if (at->first.device != device || at->second.copy != nullptr) {
      ++at;
      continue;
    }
    if (const auto status = keep(at->first, at->second, writer, rounds); !status) return status;
    at = files_.erase(at);
  }
  return {};
}

Status HeldFiles::keep_missing(perfdata::Writer& writer, Rounds& rounds) {
  copies_.wait(kPatience);
  for (auto at = files_.begin(); at != files_.end();) {
    const auto& [device, inode, path] = at->first;
    if (at->second.copy == nullptr && is_there(path, device, inode)) {
      ++at;
      continue;
    }
    if (const auto status = keep(at->first, at->second, writer, rounds); !status) return status;
    at = files_.erase(at);
  }
  return {};
}

// What is no ELF file is a program's memory by another name, or will not be looked into.
void HeldFiles::keep_whole(const Identity& identity, const Held& held, perfdata::Writer& writer) {
  if (held.copy != nullptr && !copies_.is_whole(*held.copy)) return;
  auto elf = image::read_elf_file(way_to(held));
  if (!elf || identity.path.starts_with("/memfd:")) return;
  auto file = image::RegularFile::open(way_to(held));
  if (!file || file->size() > kMostWhole - kept_whole_) return;
  const auto bytes = file->read_all(kMostWhole);
  if (!bytes) return;
  kept_whole_ += bytes->size();
  perfdata::WholeFile whole{.path = identity.path, .inode = identity.inode, .build_id = {}};
  whole.build_id.size = static_cast<std::uint8_t>(std::min<std::size_t>(elf->build_id.size(), 20));
  std::copy_n(elf->build_id.begin(), whole.build_id.size, whole.build_id.bytes.begin());
  writer.whole_file(whole, *bytes);
}

Status HeldFiles::keep(const Identity& identity, const Held& held, perfdata::Writer& writer,
                       Rounds& rounds) {
  keep_whole(identity, held, writer);
  std::array<std::uint8_t, std::size_t{60} << 10> bytes{};
  for (const Mapped& one : held.mappings) {
    if (held.copy != nullptr && !copies_.has(*held.copy, one.offset, one.size)) continue;
    perfdata::Stamp stamp = one.stamp;
    stamp.time = rounds.time_of(stamp.time);
    for (std::uint64_t done = 0; done < one.size && kept_ < kMostBytes;) {
      const std::size_t wanted = std::min<std::uint64_t>(bytes.size(), one.size - done);
      const ssize_t got =
          pread(descriptor(held), bytes.data(), wanted, static_cast<off_t>(one.offset + done));
      if (got <= 0) break;
      const auto count = static_cast<std::size_t>(got);
      const auto status = writer.code(one.address + done, {bytes.data(), count}, stamp);
      if (!status) return status;
      done += count;
      kept_ += count;
    }
  }
  return {};
}

}  // namespace hodo::capture
