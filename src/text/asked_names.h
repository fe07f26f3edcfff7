// Functions that a file asks the dynamic linker for by a name in its own data: dlsym(HANDLE,
// "NAME").
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "hodo/text/elf_bytes.h"
#include "hodo/text/module.h"
#include "register_flow.h"
#include "text_map.h"

namespace hodo::text {

class AskedNames {
 public:
  // Of 64-bit code. All must outlive it.
  AskedNames(const Module& module, const TextMap& text, const ElfBytes& elf)
      : module_(module), text_(text), elf_(elf) {}

  // Module::asked_by_name().
  std::vector<std::string_view> of(std::uint64_t insn) const;

 private:
  using Value = RegisterFlow::Value;
  struct Store {  // of a register, to a place
    std::uint64_t insn = 0;
    unsigned reg = 0;
  };
  std::vector<Store> stores_to(std::uint64_t place) const;
  std::vector<std::string_view> stored_in(std::uint64_t place) const;
  std::vector<std::string_view> returned_by(const RegisterFlow& flow, std::uint64_t call) const;
  bool is_of_asking(const Value& value) const;
  bool asks(std::uint64_t call) const;
  std::string_view name_loaded(std::uint64_t call, std::uint8_t reg) const;
  std::string_view sensitive_name_at(std::uint64_t vaddr) const;

  const Module& module_;
  const TextMap& text_;
  const ElfBytes& elf_;
};

}  // namespace hodo::text
