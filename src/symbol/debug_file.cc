#include "debug_file.h"

#include <sys/stat.h>
#include <zlib.h>

#include <algorithm>
#include <ctime>
#include <filesystem>

#include "elf_records.h"
#include "hodo/base/byte_reader.h"
#include "hodo/base/numbers.h"
#include "hodo/image/elf.h"

namespace hodo::symbol {
namespace {

constexpr std::size_t kChunk = 1 << 16;

bool has_build_id(const std::string& path, std::span<const std::uint8_t> build_id) {
  const auto elf = image::read_elf_file(path);
  return elf && std::ranges::equal(elf->build_id, build_id);
}

bool has_crc(const std::string& path, std::uint32_t wanted) {
  const auto file = image::RegularFile::open(path);
  if (!file) return false;
  std::vector<std::uint8_t> chunk(kChunk);
  std::uint32_t crc = 0;
  for (std::uint64_t offset = 0;; offset += chunk.size()) {
    const auto n = file->read_at(offset, chunk);
    if (!n) return false;
    crc = debuglink_crc(std::span(chunk).first(*n), crc);
    if (*n < chunk.size()) return crc == wanted;
  }
}

// name, zero, padding to four bytes, CRC
struct DebugLink {
  std::string name;
  std::uint32_t crc = 0;
};

std::optional<DebugLink> read_link(const ElfFile& elf) {
  const Section* const section = elf.section(".gnu_debuglink");
  if (section == nullptr) return std::nullopt;
  const auto bytes = elf.bytes(*section);
  const auto name = string_at(bytes, 0);
  // Of a path the linker writes only the last part; anything else wants to lead us somewhere.
  if (!name || name->empty() || name->find('/') != std::string_view::npos) return std::nullopt;
  ByteReader reader(bytes);
  if (!reader.seek((name->size() + 4) & ~std::uint64_t{3})) return std::nullopt;
  const auto crc = reader.read<std::uint32_t>();
  if (!crc) return std::nullopt;
  return DebugLink{std::string(*name), *crc};
}

std::vector<std::string> link_places(const std::string& path, const std::string& name,
                                     const DebugPaths& paths) {
  std::error_code ignored;
  const auto real = std::filesystem::weakly_canonical(path, ignored);
  const auto folder = ignored ? std::filesystem::path(path).parent_path() : real.parent_path();
  std::vector<std::string> places = {folder / name, folder / ".debug" / name};
  for (const auto& root : paths.roots) {
    places.push_back(std::filesystem::path(root) / folder.relative_path() / name);
  }
  return places;
}

std::vector<std::string> build_id_places(std::span<const std::uint8_t> build_id,
                                         const DebugPaths& paths) {
  if (build_id.size() < 2) return {};
  const std::string hex = image::to_hex(build_id);
  std::vector<std::string> places;
  places.reserve(paths.roots.size());
  for (const auto& root : paths.roots) {
    places.push_back(root + "/.build-id/" + hex.substr(0, 2) + "/" + hex.substr(2) + ".debug");
  }
  return places;
}

// A file system's clock ticks some hundred times a second; some know seconds only.
constexpr std::int64_t kSettledSeconds = 2;

void add_file(const std::string& path, NumberWriter& facts, bool& settled) {
  struct stat st{};
  facts.text(path);
  if (::stat(path.c_str(), &st) != 0) return;
  const auto add = [&facts](auto value) { facts.number(static_cast<std::uint64_t>(value)); };
  add(st.st_dev);
  add(st.st_ino);
  add(st.st_size);
  for (const timespec& time : {st.st_mtim, st.st_ctim}) {
    add(time.tv_sec);
    add(time.tv_nsec);
  }
  settled = settled && st.st_ctim.tv_sec < std::time(nullptr) - kSettledSeconds;
}

}  // namespace

FilesKey key_of_files(const std::string& path, const ElfFile& elf,
                      std::span<const std::uint8_t> build_id, const DebugPaths& paths) {
  std::vector<std::string> places = build_id_places(build_id, paths);
  if (const auto link = read_link(elf)) {
    for (auto& place : link_places(path, link->name, paths)) places.push_back(std::move(place));
  }
  FilesKey key;
  NumberWriter facts;
  add_file(path, facts, key.settled);
  for (const std::string& place : places) add_file(place, facts, key.settled);
  key.bytes = facts.take();
  return key;
}

std::uint32_t debuglink_crc(std::span<const std::uint8_t> bytes, std::uint32_t crc) {
  return static_cast<std::uint32_t>(crc32_z(crc, bytes.data(), bytes.size()));
}

std::optional<std::string> find_debug_file(const std::string& path, const ElfFile& elf,
                                           std::span<const std::uint8_t> build_id,
                                           const DebugPaths& paths) {
  for (auto& place : build_id_places(build_id, paths)) {
    if (has_build_id(place, build_id)) return std::move(place);
  }
  const auto link = read_link(elf);
  if (!link || path.empty()) return std::nullopt;
  for (auto& place : link_places(path, link->name, paths)) {
    if (has_crc(place, link->crc)) return std::move(place);
  }
  return std::nullopt;
}

}  // namespace hodo::symbol
