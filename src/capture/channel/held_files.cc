#include "held_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <limits.h>
#include <sys/mman.h>
#include <sys/stat.h>
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

}  // namespace

void HeldFiles::hold_program(pid_t pid) {
  const std::string link = fmt::format("/proc/{}/exe", pid);
  std::array<char, PATH_MAX> path{};
  const ssize_t length = readlink(link.c_str(), path.data(), path.size());
  if (length > 0) hold(place_of(link), std::string(path.data(), static_cast<std::size_t>(length)));
}

// Nothing but regular files is opened.
void HeldFiles::hold(const Fd& place, std::string path) {
  struct stat st{};
  if (!place || fstat(place.get(), &st) != 0 || !S_ISREG(st.st_mode)) return;
  Fd file(open(fmt::format("/proc/self/fd/{}", place.get()).c_str(), O_RDONLY | O_CLOEXEC));
  if (!file || files_.size() >= kMostFiles) return;
  files_.try_emplace({st.st_dev, st.st_ino, std::move(path)}, std::move(file),
                     std::vector<Mapped>());
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
  hold(place_of(fmt::format("/proc/{}/map_files/{:x}-{:x}", pid, mapping.address,
                            mapping.address + mapping.size)),
       path);
  return find(mapping);
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
    held = hold_mapped(mapping, stamp.pid, root);
    if (held == nullptr) return {};
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
  if (held != nullptr) return way_to(*held);
  struct stat st{};
  std::string path(mapping.path);
  const bool there = stat(path.c_str(), &st) == 0;
  return there && (mapping.inode == 0 || st.st_ino == mapping.inode) ? path : std::string();
}

std::string HeldFiles::way_to(const Held& held) {
  return fmt::format("/proc/self/fd/{}", held.file.get());
}

Status HeldFiles::let_go(dev_t device, perfdata::Writer& writer, Rounds& rounds) {
  for (auto at = files_.begin(); at != files_.end();) {
    if (at->first.device != device) {
      ++at;
      continue;
    }
    if (const auto status = keep(at->first, at->second, writer, rounds); !status) return status;
    at = files_.erase(at);
  }
  return {};
}

Status HeldFiles::keep_missing(perfdata::Writer& writer, Rounds& rounds) {
  for (auto at = files_.begin(); at != files_.end();) {
    const auto& [device, inode, path] = at->first;
    if (is_there(path, device, inode)) {
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
    perfdata::Stamp stamp = one.stamp;
    stamp.time = rounds.time_of(stamp.time);
    for (std::uint64_t done = 0; done < one.size && kept_ < kMostBytes;) {
      const std::size_t wanted = std::min<std::uint64_t>(bytes.size(), one.size - done);
      const ssize_t got =
          pread(held.file.get(), bytes.data(), wanted, static_cast<off_t>(one.offset + done));
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
