#include "split_unit.h"

#include <dwarf.h>
#include <elfutils/libdwfl.h>

#include <filesystem>

#include "dies.h"
#include "elf_file.h"

namespace hodo::symbol {
namespace {

constexpr std::uint64_t kLargestSplit = std::uint64_t{1} << 31;  // libdw reads all of it

// Whether libdw may look at what is there.
bool is_harmless(const std::filesystem::path& path) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) return true;
  if (!std::filesystem::is_regular_file(status) ||
      std::filesystem::file_size(path, error) > kLargestSplit)
    return false;
  const auto elf = ElfFile::open(path);
  return !elf || elf->unpacks_within_bounds();
}

}  // namespace

Unit whole_unit(const Dwarf_Die& unit, const std::string& path) {
  Unit out{.lines = unit, .entries = unit, .missing = {}};
  std::uint8_t type = 0;
  if (dwarf_cu_info(unit.cu, nullptr, &type, nullptr, nullptr, nullptr, nullptr, nullptr) != 0 ||
      type != DW_UT_skeleton) {
    return out;
  }
  std::string name = string_of(out.lines, DW_AT_dwo_name);
  if (name.empty()) name = string_of(out.lines, DW_AT_GNU_dwo_name);
  // As libdw looks for it.
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  const std::filesystem::path beside = (folder / name).lexically_normal();
  const std::filesystem::path compiled =
      (folder / string_of(out.lines, DW_AT_comp_dir) / name).lexically_normal();
  out.missing = beside.filename().string() + " is missing; it would be " + beside.string() +
                (compiled == beside ? "" : " or " + compiled.string());
  if (!is_harmless(path + ".dwp") || !is_harmless(beside) || !is_harmless(compiled)) return out;
  Dwarf_Die entries{};
  const bool known =
      dwarf_cu_info(unit.cu, nullptr, nullptr, nullptr, &entries, nullptr, nullptr, nullptr) == 0;
  if (!known || entries.cu == nullptr) {
    // As of packages where libdw is too old to look into them.
    const std::filesystem::path package = path + ".dwp";
    std::error_code error;
    if (std::filesystem::exists(package, error)) {
      out.missing += std::string(", and libdw ") + dwfl_version(nullptr) +
                     " finds nothing of it in " + package.filename().string();
    }
    return out;
  }
  throw_without_memory(dwarf_cu_getdwarf(entries.cu));
  out.entries = entries;
  out.missing.clear();
  return out;
}

}  // namespace hodo::symbol
