#include "dies.h"

#include <dwarf.h>

#include <filesystem>

#include "hodo/symbol/demangle.h"

namespace hodo::symbol {
namespace {

std::string text(const char* s) { return s != nullptr ? s : ""; }

std::uint64_t number_of(Dwarf_Die& die, unsigned name) {
  Dwarf_Attribute attribute;
  Dwarf_Word value = 0;
  if (dwarf_attr(&die, name, &attribute) == nullptr) return 0;
  return dwarf_formudata(&attribute, &value) == 0 ? value : 0;
}

}  // namespace

bool is_function(Dwarf_Die& die) {
  const int tag = dwarf_tag(&die);
  return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine;
}

bool holds_code(Dwarf_Die& die) {
  return is_function(die) || dwarf_tag(&die) == DW_TAG_lexical_block;
}

bool may_hold_functions(Dwarf_Die& die) {
  switch (dwarf_tag(&die)) {
    case DW_TAG_namespace:
    case DW_TAG_module:
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
      return true;
    default:
      return false;
  }
}

std::string name_of(Dwarf_Die& die) {
  for (const unsigned name : {DW_AT_linkage_name, DW_AT_MIPS_linkage_name}) {
    Dwarf_Attribute attribute;
    if (dwarf_attr_integrate(&die, name, &attribute) != nullptr) {
      return text(dwarf_formstring(&attribute));
    }
  }
  return text(dwarf_diename(&die));
}

std::string absolute(Dwarf_Die& unit, const char* path) {
  if (path == nullptr || *path == '/') return text(path);
  Dwarf_Attribute attribute;
  const char* folder = dwarf_attr(&unit, DW_AT_comp_dir, &attribute) == nullptr
                           ? nullptr
                           : dwarf_formstring(&attribute);
  if (folder == nullptr) return path;
  return (std::filesystem::path(folder) / path).lexically_normal();
}

bool is_inlined(Dwarf_Die& die) {
  const std::uint64_t how = number_of(die, DW_AT_inline);
  return how == DW_INL_inlined || how == DW_INL_declared_inlined;
}

// Of a name as it was written, the part that DWARF has apart from namespaces and parameters may be
// anything: whoever is called so has its own name in it.
bool is_called(Dwarf_Die& function, std::string_view wanted) {
  const char* const own = dwarf_diename(&function);
  if (own == nullptr) return false;
  // A template's instance has its arguments with it, which may be left out.
  const std::string_view name = own;
  const auto bare = name.starts_with("operator") ? name : name.substr(0, name.find('<'));
  if (wanted.find(bare) == wanted.npos) return false;
  return wanted == own || means(wanted, demangle(name_of(function)));
}

Position position_of_definition(Dwarf_Die& unit, Dwarf_Die& die) {
  int line = 0;
  if (dwarf_decl_line(&die, &line) != 0 || line < 0) line = 0;
  return {absolute(unit, dwarf_decl_file(&die)), static_cast<std::uint32_t>(line)};
}

Position position_of_call(Dwarf_Die& unit, Dwarf_Die& die) {
  Dwarf_Files* files = nullptr;
  std::size_t count = 0;
  Position position{{}, static_cast<std::uint32_t>(number_of(die, DW_AT_call_line))};
  const auto file = number_of(die, DW_AT_call_file);
  if (dwarf_getsrcfiles(&unit, &files, &count) == 0 && file < count) {
    const char* path = dwarf_filesrc(files, static_cast<std::size_t>(file), nullptr, nullptr);
    position.file = absolute(unit, path);
  }
  return position;
}

}  // namespace hodo::symbol
