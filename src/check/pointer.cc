#include "pointer.h"

#include <fmt/format.h>

#include <algorithm>
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

  // Of the last one.
  bool is_at_call() const {
    const auto insn = module_.insn(at_);
    return insn && (insn->cls == isa::InsnClass::call || insn->cls == isa::InsnClass::icall);
  }
  // It is the first of its function.
  bool is_at_function() const {
    const text::Function* const function = module_.function(at_);
    return function != nullptr && function->begin == at_;
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

// A variable of the function or of the file, in which any address may be kept: slots of the GOT
// hold where a vtable begins, and not what objects point to.
bool is_variable(const isa::Memory& memory) {
  if (memory.address) return true;
  constexpr std::uint8_t kRsp = 4;
  constexpr std::uint8_t kRbp = 5;
  return memory.base == kRsp || memory.base == kRbp;
}

// How far a register is from an address that was read from an object, all of it by numbers, and
// where that was.
struct FromLoaded {
  std::int64_t distance = 0;
  isa::Memory memory;
};
std::optional<FromLoaded> from_loaded(Backwards& before, std::uint8_t reg) {
  constexpr int kFurthest = 64;
  using What = isa::Move::What;
  std::int64_t distance = 0;
  for (int i = 0; i < kFurthest; ++i) {
    const auto move = before.next();
    if (!move) return std::nullopt;
    if ((move->changed >> reg & 1) == 0) continue;
    if (move->to != reg) return std::nullopt;
    if (move->what == What::load) {
      if (is_variable(move->memory)) return std::nullopt;
      return FromLoaded{distance, move->memory};
    }
    if (move->what == What::copy) {
      reg = move->from;
    } else if (move->what == What::address && move->memory.index == isa::kNoRegister &&
               move->memory.base != isa::kNoRegister) {
      distance += move->memory.displacement;
      reg = move->memory.base;
    } else {
      return std::nullopt;
    }
  }
  return std::nullopt;
}

// Where the value of a register comes from, by copies and numbers: it is read from memory,
// returned, or given to the function.
bool is_settled(Backwards& before, std::uint8_t reg) {
  constexpr unsigned kArguments = 0x3c6;  // RDI, RSI, RDX, RCX, R8, R9 (psABI, "Register Usage")
  constexpr std::uint8_t kRax = 0;
  constexpr int kFurthest = 64;
  using What = isa::Move::What;
  for (int i = 0; i < kFurthest && reg != isa::kNoRegister; ++i) {
    const auto move = before.next();
    if (!move) return before.is_at_function() && (kArguments >> reg & 1) != 0;
    if ((move->changed >> reg & 1) == 0) continue;
    if (move->to != reg) return reg == kRax && before.is_at_call();
    if (move->what == What::load) return true;
    if (move->what == What::copy) {
      reg = move->from;
    } else if (move->what == What::address && move->memory.index == isa::kNoRegister) {
      reg = move->memory.base;
    } else {
      return false;
    }
  }
  return false;
}

// How far a register is, by numbers, from an address in the file, or from what the word there
// holds.
struct Written {
  std::uint64_t address = 0;
  bool word = false;
  std::uint64_t distance = 0;
};
std::optional<Written> written_in(Backwards& before, std::uint8_t reg) {
  constexpr int kFurthest = 16;
  using What = isa::Move::What;
  std::uint64_t distance = 0;
  for (int i = 0; i < kFurthest; ++i) {
    const auto move = before.next();
    if (!move) return std::nullopt;
    if ((move->changed >> reg & 1) == 0) continue;
    if (move->to != reg) return std::nullopt;
    const isa::Memory& memory = move->memory;
    if (move->what == What::copy) {
      reg = move->from;
      continue;
    }
    const bool load = move->what == What::load;
    if (!load && move->what != What::address) return std::nullopt;
    if (memory.address) return Written{*memory.address, load, distance};
    if (load || memory.index != isa::kNoRegister || memory.base == isa::kNoRegister) {
      return std::nullopt;
    }
    distance += static_cast<std::uint64_t>(memory.displacement);
    reg = memory.base;
  }
  return std::nullopt;
}

// What numbers add to the register, as far as the straight line goes; 0: none do.
std::uint64_t distance_added(Backwards& before, std::uint8_t reg) {
  constexpr int kFurthest = 16;
  using What = isa::Move::What;
  std::uint64_t distance = 0;
  for (int i = 0; i < kFurthest; ++i) {
    const auto move = before.next();
    if (!move) return distance;
    if ((move->changed >> reg & 1) == 0) continue;
    if (move->to == reg && move->what == What::load) return distance;
    const isa::Memory& memory = move->memory;
    if (move->to == reg && move->what == What::copy) {
      reg = move->from;
    } else if (move->to == reg && move->what == What::address && !memory.address &&
               memory.index == isa::kNoRegister && memory.base != isa::kNoRegister) {
      distance += static_cast<std::uint64_t>(memory.displacement);
      reg = memory.base;
    } else {
      return 0;
    }
  }
  return 0;
}

// Of registers, the fixed place that the value of one came from, as far as copies and sums tell.
std::optional<std::uint64_t> fixed_place(Backwards& before, unsigned tracked) {
  constexpr int kFurthest = 64;
  using What = isa::Move::What;
  for (int i = 0; i < kFurthest && tracked != 0; ++i) {
    const auto move = before.next();
    if (!move) return std::nullopt;
    const bool writes = move->to != isa::kNoRegister && (tracked >> move->to & 1) != 0;
    if (writes && move->what == What::load && move->memory.address) return move->memory.address;
    if (!writes || move->what != What::sum) tracked &= ~unsigned{move->changed};
    if (writes && (move->what == What::copy || move->what == What::sum)) {
      tracked |= 1u << move->from;
    }
  }
  return std::nullopt;
}

bool is_on_stack(const isa::Memory& memory) {
  constexpr std::uint8_t kRsp = 4;
  return memory.base == kRsp && memory.index == isa::kNoRegister;
}

// At a distance from a register that is in another register, as code of the large model reads
// slots.
bool is_at_distance(const isa::Memory& memory) {
  return memory.base != isa::kNoRegister && memory.index != isa::kNoRegister &&
         memory.displacement == 0;
}

// Whether the register has a sum, what lies at a distance or was kept on the stack, or, where
// nobody knows what ran before, what a function keeps in it over calls.
bool is_computed(Backwards& before, std::uint8_t reg) {
  constexpr unsigned kPreserved = 0xf028;  // RBX, RBP, R12 to R15 (psABI, "Register Usage")
  constexpr int kFurthest = 64;
  using What = isa::Move::What;
  for (int i = 0; i < kFurthest; ++i) {
    const auto move = before.next();
    if (!move) break;
    if ((move->changed >> reg & 1) == 0) continue;
    if (move->to != reg) return false;
    if (move->what == What::load) {
      return is_on_stack(move->memory) || is_at_distance(move->memory);
    }
    if (move->what == What::sum || move->what == What::address) return true;
    if (move->what != What::copy) return false;
    reg = move->from;
  }
  return (kPreserved >> reg & 1) != 0;
}

// Whether the calling function has as a number how far the file's own stub is from the GOT, or the
// slot of a function that is called so.
bool has_number(const Edge& edge) {
  const text::Module& module = *edge.from.module;
  const std::uint64_t at = edge.from.vaddr;
  if (edge.to.module == &module && module.has_distance(at, edge.to.vaddr)) return true;
  return std::ranges::any_of(module.slots(), [&](const text::Slot& slot) {
    return is_called(*edge.to.module, edge.to.vaddr, slot.name) &&
           module.has_distance(at, slot.address);
  });
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

// Where the pointer of an indirect call or jump lies; `before` is left at what comes before that.
std::optional<isa::Memory> memory_of(const isa::Pointer& pointer, Backwards& before) {
  if (pointer.in == isa::kNoRegister) return pointer.memory;
  return loaded_from(before, pointer.in);
}

}  // namespace

bool is_by_runtime_table(const Edge& edge) {
  if (!edge.from.known() || edge.mode != isa::Mode::bits64) return false;
  const text::Module& module = *edge.from.module;
  const auto pointer = module.pointer_of(edge.from.vaddr);
  if (!pointer) return false;
  Backwards before(module, edge.from.vaddr);
  const auto memory = memory_of(*pointer, before);
  if (!memory || memory->address) return false;
  // kNoRegister has a bit of its own, which no instruction changes.
  const auto slot = fixed_place(before, 1u << memory->base | 1u << memory->index);
  if (!slot) return false;
  const auto held = module.held_at(*slot);
  return !held || (held->name.empty() && held->address == 0);
}

bool is_by_written_address(const Edge& edge) {
  if (!edge.from.known() || edge.from.kept || !edge.to.known()) return false;
  if (edge.mode != isa::Mode::bits64) return false;
  const text::Module& module = *edge.from.module;
  const auto pointer = module.pointer_of(edge.from.vaddr);
  if (!pointer || pointer->in == isa::kNoRegister) return false;
  Backwards before(module, edge.from.vaddr);
  const auto written = written_in(before, pointer->in);
  if (!written) return false;
  const std::uint64_t begin = edge.to.vaddr - written->distance;
  if (!written->word) return edge.to.module == &module && begin == written->address;
  const auto held = module.held_at(written->address);
  return held && !held->name.empty() && is_called(*edge.to.module, begin, held->name);
}

bool is_far_behind_start(const Edge& edge) {
  if (!edge.from.known() || edge.from.kept || !edge.to.has(text::kInsn)) return false;
  if (edge.mode != isa::Mode::bits64) return false;
  const text::Module& module = *edge.from.module;
  const auto pointer = module.pointer_of(edge.from.vaddr);
  if (!pointer || pointer->in == isa::kNoRegister) return false;
  Backwards before(module, edge.from.vaddr);
  const std::uint64_t distance = distance_added(before, pointer->in);
  const text::Function* const function = edge.to.module->function(edge.to.vaddr);
  return distance != 0 && function != nullptr && edge.to.vaddr - distance == function->begin;
}

bool is_by_number(const Edge& edge) {
  if (!edge.from.known() || !edge.to.known() || edge.mode != isa::Mode::bits64) return false;
  const text::Module& module = *edge.from.module;
  const auto pointer = module.pointer_of(edge.from.vaddr);
  if (!pointer || !has_number(edge)) return false;
  if (pointer->in == isa::kNoRegister) {
    return is_on_stack(pointer->memory) || is_at_distance(pointer->memory);
  }
  Backwards before(module, edge.from.vaddr);
  return is_computed(before, pointer->in);
}

PointerPlace pointer_place(const Edge& edge) {
  if (!edge.from.known() || edge.from.kept || edge.mode != isa::Mode::bits64) return {};
  const text::Module& module = *edge.from.module;
  const auto pointer = module.pointer_of(edge.from.vaddr);
  if (!pointer) return {};
  Backwards before(module, edge.from.vaddr);
  const auto memory = memory_of(*pointer, before);
  if (!memory || memory->index != isa::kNoRegister) return {};
  if (memory->address) return {.address = memory->address};
  Backwards of_base = before;
  if (const auto base = written_in(of_base, memory->base); base && !base->word) {
    return {.address =
                base->address + base->distance + static_cast<std::uint64_t>(memory->displacement)};
  }
  const auto table = from_loaded(before, memory->base);
  if (!table) return {};
  return {.offset = static_cast<std::uint64_t>(table->distance + memory->displacement)};
}

const text::Slot* slot_called(const Edge& edge) {
  if (!edge.from.known() || edge.from.kept) return nullptr;
  const text::Module& module = *edge.from.module;
  const text::Slot* const slot = module.slot_of(edge.from.vaddr);
  if (slot != nullptr || !edge.retpoline) return slot;
  const auto place = pointer_place(edge).address;
  return place ? module.slot_at(*place) : nullptr;
}

bool has_settled_object(const Edge& edge) {
  const text::Module& module = *edge.from.module;
  const auto pointer = module.pointer_of(edge.from.vaddr);
  if (!pointer) return false;
  Backwards before(module, edge.from.vaddr);
  const auto memory = memory_of(*pointer, before);
  if (!memory || memory->base == isa::kNoRegister) return false;
  const auto table = from_loaded(before, memory->base);
  return table && table->memory.index == isa::kNoRegister && is_settled(before, table->memory.base);
}

std::vector<Fact> pointer_facts(const Edge& edge) {
  if (!edge.from.known() || edge.from.kept || edge.mode != isa::Mode::bits64) return {};
  const text::Module& module = *edge.from.module;
  const auto pointer = module.pointer_of(edge.from.vaddr);
  if (!pointer) return {};
  Backwards before(module, edge.from.vaddr);
  const auto found = memory_of(*pointer, before);
  if (!found) return {{.what = "pointer in", .text = std::string(kRegisters[pointer->in])}};
  const isa::Memory& memory = *found;
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
