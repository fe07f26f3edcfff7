#include "pointer.h"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <utility>

#include "hodo/isa/moves.h"
#include "hodo/symbol/demangle.h"

namespace hodo::check {
namespace {

constexpr std::array<std::string_view, 17> kRegisters = {"rax", "rcx", "rdx", "rbx", "rsp", "rbp",
                                                         "rsi", "rdi", "r8",  "r9",  "r10", "r11",
                                                         "r12", "r13", "r14", "r15", "?"};

std::string text_of(const isa::Memory& memory) {
  std::string out = "[";
  out += kRegisters[memory.base];
  if (memory.index != isa::kNoRegister) out += fmt::format("+{}*n", kRegisters[memory.index]);
  if (memory.displacement > 0) out += fmt::format("+{:#x}", memory.displacement);
  if (memory.displacement < 0) out += fmt::format("-{:#x}", -memory.displacement);
  return out + "]";
}

// The instructions that run before one, from the nearest on: in a straight line to which nothing
// else leads.
class Backwards {
 public:
  Backwards(const text::Module& module, std::uint64_t vaddr) : module_(module), at_(vaddr) {}

  // nullopt: nobody knows what ran before.
  std::optional<isa::Move> next() {
    constexpr std::uint64_t kLongest = 15;
    constexpr text::Marks kEntered =
        text::kLeader | text::kStart | text::kTaken | text::kTableTarget | text::kLanding;
    if (module_.has(at_, kEntered)) return std::nullopt;
    for (std::uint64_t length = 1; length <= kLongest && length <= at_; ++length) {
      if (!module_.has(at_ - length, text::kFlow)) continue;
      const auto insn = module_.insn(at_ - length);
      if (!insn || insn->length != length) return std::nullopt;
      at_ -= length;
      return isa::decode_move(module_.bytes(at_), at_);
    }
    return std::nullopt;
  }

 private:
  const text::Module& module_;
  std::uint64_t at_;
};

// The memory that a register was loaded from.
std::optional<isa::Memory> loaded_from(Backwards& before, std::uint8_t reg) {
  constexpr int kFurthest = 64;
  for (int i = 0; i < kFurthest; ++i) {
    const auto move = before.next();
    if (!move) return std::nullopt;
    if ((move->changed >> reg & 1) == 0) continue;
    if (move->to != reg) return std::nullopt;
    if (move->what == isa::Move::What::load) return move->memory;
    if (move->what != isa::Move::What::copy) return std::nullopt;
    reg = move->from;
  }
  return std::nullopt;
}

// What the file has in a slot, of which it says where it is.
std::vector<Fact> facts_of_slot(const Edge& edge, std::uint64_t slot) {
  const std::uint64_t moved = edge.from.address - edge.from.vaddr;
  std::vector<Fact> out = {{.what = "pointer at", .address = slot + moved}};
  const auto held = edge.from.module->held_at(slot);
  if (!held) {
    out.push_back({.what = "file holds", .text = "nothing there: the program fills it"});
  } else if (!held->name.empty()) {
    out.push_back({.what = "file holds", .text = "the address of " + symbol::demangle(held->name)});
  } else if (held->address == 0) {
    out.push_back({.what = "file holds", .text = "0 there: the program fills it"});
  } else {
    out.push_back({.what = "file holds", .address = held->address + moved});
  }
  return out;
}

}  // namespace

std::vector<Fact> pointer_facts(const Edge& edge) {
  if (!edge.from.known() || edge.from.kept || edge.mode != isa::Mode::bits64) return {};
  const text::Module& module = *edge.from.module;
  const auto pointer = isa::decode_pointer(module.bytes(edge.from.vaddr), edge.from.vaddr);
  if (!pointer) return {};
  isa::Memory memory = pointer->memory;
  Backwards before(module, edge.from.vaddr);
  if (pointer->in != isa::kNoRegister) {
    const auto from = loaded_from(before, pointer->in);
    if (!from) {
      return {{.what = "pointer in", .text = std::string(kRegisters[pointer->in])}};
    }
    memory = *from;
  }
  if (memory.address) return facts_of_slot(edge, *memory.address);
  std::vector<Fact> out = {{.what = "pointer at", .text = text_of(memory)}};
  if (memory.base == isa::kNoRegister) return out;
  const auto table = loaded_from(before, memory.base);
  if (!table) return out;
  if (table->address) {
    const std::uint64_t moved = edge.from.address - edge.from.vaddr;
    out.push_back({.what = "whose base is at", .address = *table->address + moved});
  } else {
    out.push_back({.what = "whose base is at", .text = text_of(*table)});
  }
  return out;
}

}  // namespace hodo::check
