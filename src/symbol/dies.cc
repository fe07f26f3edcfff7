#include "dies.h"

#include <dwarf.h>

#include <filesystem>
#include <new>
#include <utility>
#include <vector>

#include "hodo/symbol/demangle.h"

namespace hodo::symbol {
namespace {

constexpr std::size_t kLongestScope = 4096;
constexpr Dwarf_Half kFilesFromZero = 5;  // DWARF's version; before, 0 is no file

std::string text(const char* s) { return s != nullptr ? s : ""; }

__attribute__((noreturn)) void throw_bad_alloc() { throw std::bad_alloc(); }

bool has_linkage_name(Dwarf_Die& die) {
  Dwarf_Attribute attribute;
  return dwarf_attr_integrate(&die, DW_AT_linkage_name, &attribute) != nullptr ||
         dwarf_attr_integrate(&die, DW_AT_MIPS_linkage_name, &attribute) != nullptr;
}

// The entry that stands where the function is declared: of what it is said to be an instance of.
Dwarf_Die declaration_of(const Dwarf_Die& function) {
  constexpr int kMostLinks = 4;
  Dwarf_Die at = function;
  for (int i = 0; i < kMostLinks; ++i) {
    Dwarf_Attribute attribute;
    Dwarf_Die next;
    if (dwarf_attr(&at, DW_AT_abstract_origin, &attribute) == nullptr &&
        dwarf_attr(&at, DW_AT_specification, &attribute) == nullptr) {
      break;
    }
    if (dwarf_formref_die(&attribute, &next) == nullptr) break;
    at = next;
  }
  return at;
}

std::uint64_t number_of(Dwarf_Die& die, unsigned name) {
  Dwarf_Attribute attribute;
  Dwarf_Word value = 0;
  if (dwarf_attr(&die, name, &attribute) == nullptr) return 0;
  return dwarf_formudata(&attribute, &value) == 0 ? value : 0;
}

// The file that an attribute numbers, in the table of the unit that has the attribute. Asked by
// hand: dwarf_decl_file() ends the program (assert) where entries were split off.
std::string file_of(Dwarf_Die& unit, Dwarf_Die& die, unsigned name) {
  Dwarf_Attribute attribute;
  Dwarf_Word number = 0;
  Dwarf_Half version = 0;
  Dwarf_Die own;
  Dwarf_Files* files = nullptr;
  std::size_t count = 0;
  const bool found = dwarf_attr_integrate(&die, name, &attribute) != nullptr &&
                     dwarf_formudata(&attribute, &number) == 0 &&
                     dwarf_cu_info(attribute.cu, &version, nullptr, &own, nullptr, nullptr, nullptr,
                                   nullptr) == 0 &&
                     dwarf_getsrcfiles(&own, &files, &count) == 0 && number < count &&
                     (number != 0 || version >= kFilesFromZero);
  return found ? absolute(unit, dwarf_filesrc(files, number, nullptr, nullptr)) : "";
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

std::string string_of(Dwarf_Die& die, unsigned name) {
  Dwarf_Attribute attribute;
  if (dwarf_attr(&die, name, &attribute) == nullptr) return "";
  return text(dwarf_formstring(&attribute));
}

void throw_without_memory(Dwarf* dwarf) { dwarf_new_oom_handler(dwarf, throw_bad_alloc); }

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
bool is_called(Dwarf_Die& function, std::string_view wanted, Scopes& scopes) {
  const char* const own = dwarf_diename(&function);
  if (own == nullptr) return false;
  // A template's instance has its arguments with it, which may be left out.
  const std::string_view name = own;
  const auto bare = name.starts_with("operator") ? name : name.substr(0, name.find('<'));
  if (wanted.find(bare) == wanted.npos) return false;
  if (wanted == own || means(wanted, demangle(name_of(function)))) return true;
  return wanted.find("::") != wanted.npos && !has_linkage_name(function) &&
         means(wanted, full_name_of(function, scopes));
}

std::string full_name_of(Dwarf_Die& function, Scopes& scopes) {
  std::string name = name_of(function);
  if (name.empty() || has_linkage_name(function)) return name;
  return scopes.around(declaration_of(function)) + name;
}

std::string Scopes::around(Dwarf_Die function) {
  Dwarf_Die unit;
  if (dwarf_diecu(&function, &unit, nullptr, nullptr) == nullptr) return "";
  if (units_.insert(unit.addr).second) read(unit);
  const auto found = of_.find(function.addr);
  std::string out;
  std::uint32_t at = found != of_.end() ? found->second : kNone;
  for (; at != kNone && out.size() < kLongestScope; at = scopes_[at].around) {
    if (scopes_[at].name != nullptr) out.insert(0, "::").insert(0, scopes_[at].name);
  }
  return out;
}

void Scopes::read(const Dwarf_Die& unit) {
  std::vector<std::pair<Dwarf_Die, std::uint32_t>> pending = {{unit, kNone}};
  while (!pending.empty()) {
    auto [parent, scope] = pending.back();
    pending.pop_back();
    Dwarf_Die child;
    if (dwarf_child(&parent, &child) != 0) continue;
    do {
      if (--budget_ < 0) return;
      if (dwarf_tag(&child) == DW_TAG_subprogram && scope != kNone) of_.emplace(child.addr, scope);
      if (!may_hold_functions(child)) continue;
      const bool space = dwarf_tag(&child) == DW_TAG_namespace;
      const char* const name = dwarf_diename(&child);
      pending.emplace_back(child, static_cast<std::uint32_t>(scopes_.size()));
      scopes_.push_back({scope, name == nullptr && space ? "(anonymous namespace)" : name});
    } while (dwarf_siblingof(&child, &child) == 0);
  }
}

Position position_of_definition(Dwarf_Die& unit, Dwarf_Die& die) {
  int line = 0;
  if (dwarf_decl_line(&die, &line) != 0 || line < 0) line = 0;
  return {file_of(unit, die, DW_AT_decl_file), static_cast<std::uint32_t>(line)};
}

Position position_of_call(Dwarf_Die& unit, Dwarf_Die& die) {
  return {file_of(unit, die, DW_AT_call_file),
          static_cast<std::uint32_t>(number_of(die, DW_AT_call_line))};
}

}  // namespace hodo::symbol
