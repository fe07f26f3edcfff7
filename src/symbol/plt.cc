#include "plt.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>
#include <span>

#include "elf_records.h"
#include "hodo/base/byte_reader.h"

namespace hodo::symbol {
namespace {

using NameAt = std::function<std::string(std::uint64_t)>;

// What the dynamic linker puts into GOT slots.
struct Slots {
  std::map<std::uint64_t, std::string> by_address;
  std::vector<std::string> by_number;  // of .rela.plt or .rel.plt: what lazy stubs push
};

bool is_irelative(std::uint16_t machine, std::uint32_t type) {
  return type == (machine == EM_X86_64 ? R_X86_64_IRELATIVE : R_386_IRELATIVE);
}

// JUMP_SLOT and GLOB_DAT have the same numbers on both machines.
bool binds_function(std::uint32_t type) {
  return type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT;
}

// The dynamic symbol table's names by index.
class SymbolNames {
 public:
  SymbolNames(const ElfFile& file, image::ElfClass elf_class, const Section& table) {
    if (table.link >= file.sections().size()) return;
    const auto strings = file.bytes(file.sections()[table.link]);
    for_each_symbol(file.bytes(table), elf_class, [&](const Elf64_Sym& s) {
      names_.push_back(string_at(strings, s.st_name).value_or(""));
    });
  }
  std::string_view operator[](std::uint32_t index) const {
    return index < names_.size() ? names_[index] : std::string_view{};
  }

 private:
  std::vector<std::string_view> names_;
};

std::uint32_t read32(std::span<const std::uint8_t> bytes) {
  return ByteReader(bytes).read<std::uint32_t>().value_or(0);
}

std::string slot_name(const Relocation& r, std::uint16_t machine, const SymbolNames& names,
                      const NameAt& name_at) {
  if (binds_function(r.type)) return std::string(names[r.symbol]);
  if (!is_irelative(machine, r.type) || r.addend == 0) return {};
  const auto chooser = static_cast<std::uint64_t>(r.addend);
  auto name = name_at(chooser);
  if (!name.empty()) return name;
  std::array<char, 16> digits{};
  const auto end = std::to_chars(digits.begin(), digits.end(), chooser, 16).ptr;
  return "*ABS*+0x" + std::string(digits.begin(), end);  // as objdump has it
}

// The addend of an entry of SHT_REL, which lies where the result goes, of 32 bits.
std::int64_t addend_at(const ElfFile& file, std::uint64_t place) {
  for (const Section& section : file.sections()) {
    if (section.address == 0 || place - section.address >= section.size) continue;
    const auto bytes = file.bytes(section);
    const std::size_t at = place - section.address;
    return at < bytes.size() ? read32(bytes.subspan(at)) : 0;
  }
  return 0;
}

Slots read_slots(const ElfFile& file, const image::Elf& elf, const NameAt& name_at) {
  Slots slots;
  for (const Section& section : file.sections()) {
    const bool rela = section.type == SHT_RELA;
    if (!rela && section.type != SHT_REL) continue;
    if (section.link >= file.sections().size()) continue;
    const SymbolNames names(file, elf.elf_class, file.sections()[section.link]);
    const bool lazy = section.name.ends_with(".plt");
    for_each_relocation(file.bytes(section), elf.elf_class, rela, [&](Relocation r) {
      if (!rela && is_irelative(elf.machine, r.type)) r.addend = addend_at(file, r.place);
      auto name = slot_name(r, elf.machine, names, name_at);
      if (lazy) slots.by_number.push_back(name);
      if (!name.empty()) slots.by_address.emplace(r.place, std::move(name));
    });
  }
  return slots;
}

// The bytes of a stub, and how to read them on this machine.
class StubReader {
 public:
  StubReader(const ElfFile& file, const image::Elf& elf, const Slots& slots)
      : long_mode_(elf.machine == EM_X86_64), slots_(slots) {
    const Section* got = file.section(".got.plt");
    if (got == nullptr) got = file.section(".got");
    if (got != nullptr) got_ = got->address;
  }

  const std::string* name_of(std::span<const std::uint8_t> stub, std::uint64_t address) const {
    if (const auto slot = slot_of_retpoline(stub, address)) return name_by(*slot);
    for (std::size_t i = 0; i + 6 <= stub.size(); ++i) {
      const auto slot = slot_of_jump(stub.subspan(i, 6), address + i);
      if (slot) return name_by(*slot);
    }
    return pushed_name(stub);
  }

 private:
  const std::string* name_by(std::uint64_t slot) const {
    const auto it = slots_.by_address.find(slot);
    return it != slots_.by_address.end() ? &it->second : nullptr;
  }

  // 4C 8B 1D disp32: mov r11, [rip + disp32], which begins a stub of lld's -z retpolineplt.
  std::optional<std::uint64_t> slot_of_retpoline(std::span<const std::uint8_t> stub,
                                                 std::uint64_t address) const {
    constexpr std::array<std::uint8_t, 3> kLoad = {0x4c, 0x8b, 0x1d};
    constexpr std::size_t kLength = 7;
    if (!long_mode_ || stub.size() < kLength) return std::nullopt;
    if (!std::ranges::equal(stub.first(kLoad.size()), kLoad)) return std::nullopt;
    const auto displacement = static_cast<std::int32_t>(read32(stub.subspan(kLoad.size())));
    return address + kLength + static_cast<std::uint64_t>(std::int64_t{displacement});
  }

  // FF 25 disp32: jmp [rip + disp32], or jmp [disp32] on i386; FF A3 disp32: jmp [ebx + disp32],
  // where ebx has the address of the GOT.
  std::optional<std::uint64_t> slot_of_jump(std::span<const std::uint8_t> jump,
                                            std::uint64_t address) const {
    if (jump[0] != 0xff) return std::nullopt;
    const std::uint32_t displacement = read32(jump.subspan(2));
    if (jump[1] == 0x25 && long_mode_) {
      return address + jump.size() +
             static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(displacement)});
    }
    if (jump[1] == 0x25) return displacement;
    if (jump[1] == 0xa3 && !long_mode_) return static_cast<std::uint32_t>(got_ + displacement);
    return std::nullopt;
  }

  // [endbr] 68 imm32: push the relocation's number, on i386 its offset in a table of 8-byte
  // entries.
  const std::string* pushed_name(std::span<const std::uint8_t> stub) const {
    if (stub.size() >= 4 && stub[0] == 0xf3 && stub[1] == 0x0f) stub = stub.subspan(4);
    if (stub.size() < 5 || stub[0] != 0x68) return nullptr;
    const std::size_t number = read32(stub.subspan(1)) / (long_mode_ ? 1 : sizeof(Elf32_Rel));
    return number < slots_.by_number.size() ? &slots_.by_number[number] : nullptr;
  }

  bool long_mode_;
  const Slots& slots_;
  std::uint64_t got_ = 0;
};

// Linkers put 4 there on i386, where stubs have 16 bytes as everywhere; those of .plt.got may have
// 8. Of a program that does not move and needs no dynamic linker GNU ld says nothing: there they
// are a jump each, of 8 bytes.
std::size_t stub_size(const Section& section, std::span<const std::uint8_t> bytes) {
  constexpr std::array<std::uint8_t, 2> kJump = {0xff, 0x25};
  const auto jumps = [&](std::size_t at) {
    return at + 8 <= bytes.size() && std::ranges::equal(bytes.subspan(at, kJump.size()), kJump);
  };
  const bool short_ones = jumps(0) && (bytes.size() == 8 || jumps(8));
  return section.entry_size == 8 || (section.entry_size == 0 && short_ones) ? 8 : 16;
}

}  // namespace

std::vector<PltStub> find_plt_stubs(const ElfFile& file, const image::Elf& elf,
                                    const std::function<std::string(std::uint64_t)>& name_at) {
  std::vector<PltStub> stubs;
  if (elf.machine != EM_X86_64 && elf.machine != EM_386) return stubs;
  const Slots slots = read_slots(file, elf, name_at);
  const StubReader reader(file, elf, slots);
  for (const Section& section : file.sections()) {
    if (!section.executable() || section.name.find("plt") == std::string::npos) continue;
    const auto bytes = file.bytes(section);
    const std::size_t size = stub_size(section, bytes);
    for (std::size_t at = 0; size <= bytes.size() - at; at += size) {
      const std::string* const name = reader.name_of(bytes.subspan(at, size), section.address + at);
      if (name == nullptr || name->empty()) continue;
      stubs.push_back({section.address + at, size, *name + "@plt"});
    }
  }
  return stubs;
}

}  // namespace hodo::symbol
