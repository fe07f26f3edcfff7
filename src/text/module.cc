#include "hodo/text/module.h"

#include <algorithm>
#include <array>

#include "arguments.h"
#include "asked_names.h"
#include "branch_pointer.h"
#include "hodo/isa/moves.h"
#include "hodo/text/ancestry.h"
#include "hodo/text/elf_bytes.h"
#include "hodo/text/names.h"
#include "module_facts.h"
#include "register_flow.h"
#include "text_map.h"
#include "vtables.h"

namespace hodo::text {
namespace {

constexpr std::uint8_t kRexR = 4;

// The number of REG in CALL REG or JMP REG.
std::optional<unsigned> called_register(const TextMap& text, std::uint64_t at) {
  const auto pointer = branch_pointer(text, at);
  return pointer && pointer->in != isa::kNoRegister ? std::optional<unsigned>(pointer->in)
                                                    : std::nullopt;
}

// Calls leave the register as it was (psABI, "Register Usage"): RBX, RBP, R12 to R15.
bool is_preserved(unsigned reg) { return reg == 3 || reg == 5 || reg >= 12; }

// The address that MOV REG, [RIP + distance] reads; nullopt for any other instruction.
std::optional<std::uint64_t> loaded_place(std::span<const std::uint8_t> code, std::uint64_t at,
                                          unsigned reg) {
  constexpr std::uint64_t kLength = 7;
  if (code.size() < kLength || (code[0] & 0xf8) != 0x48 || code[1] != 0x8b) return std::nullopt;
  if ((code[2] & 0xc7) != 5) return std::nullopt;
  if ((code[2] >> 3 & 7u) + ((code[0] & kRexR) != 0 ? 8u : 0u) != reg) return std::nullopt;
  ByteReader distance(code.subspan(3));
  return at + kLength + static_cast<std::uint64_t>(std::int64_t{*distance.read<std::int32_t>()});
}

// MOV REG, IMM64: REX.W B8+r (SDM vol. 2).
std::optional<std::uint64_t> number_moved(std::span<const std::uint8_t> code) {
  if (code.size() < 2 || (code[0] & 0xfe) != 0x48 || (code[1] & 0xf8) != 0xb8) return std::nullopt;
  return ByteReader(code.subspan(2)).read<std::uint64_t>();
}

}  // namespace

Module::Module(std::unique_ptr<const Facts> facts) : facts_(std::move(facts)) {}
Module::~Module() = default;

const image::Elf& Module::elf() const { return facts_->elf; }
const symbol::SymbolTable& Module::symbols() const { return *facts_->symbols; }
isa::Mode Module::mode() const {
  return elf().elf_class == image::ElfClass::elf32 ? isa::Mode::bits32 : isa::Mode::bits64;
}
bool Module::complete() const { return facts_->complete; }
bool Module::has_ibt() const { return facts_->ibt; }
bool Module::executes_stack() const { return facts_->executes_stack; }
bool Module::relocates_text() const { return facts_->relocates_text; }
const std::vector<std::string>& Module::needed() const { return facts_->needed; }
const std::vector<std::string>& Module::wished() const { return facts_->wished; }
const std::string& Module::soname() const { return facts_->soname; }
bool Module::is_text(std::uint64_t vaddr) const { return facts_->text.contains(vaddr); }
Marks Module::marks(std::uint64_t vaddr) const { return facts_->text.marks(vaddr); }
std::span<const Function> Module::functions() const { return facts_->functions.all(); }
std::span<const LandingPad> Module::landings() const { return facts_->landings; }
std::span<const Slot> Module::slots() const { return facts_->slots; }
std::span<const KeptPointer> Module::kept_pointers() const { return facts_->kept_pointers; }

std::span<const std::uint8_t> Module::bytes(std::uint64_t vaddr) const {
  return facts_->text.bytes(vaddr);
}

std::optional<isa::Insn> Module::insn(std::uint64_t vaddr) const {
  return isa::decode(bytes(vaddr), vaddr, mode());
}

std::optional<std::uint64_t> Module::got() const { return facts_->got; }

bool Module::contains(std::string_view text) const {
  const auto& file = facts_->file;
  return memmem(file.data(), file.size(), text.data(), text.size()) != nullptr;
}

std::span<const std::uint8_t> Module::file() const { return facts_->file; }

const Function* Module::function(std::uint64_t vaddr) const { return facts_->functions.at(vaddr); }

bool Module::same_function(std::uint64_t a, std::uint64_t b) const {
  return facts_->functions.same(a, b);
}

bool Module::lands(std::uint64_t return_address, std::uint64_t pad) const {
  // The call itself lies before its return address. Call sites of one function do not overlap, and
  // functions do not either, so that few begin before this one and reach it.
  const auto& all = facts_->landings;
  auto site = std::ranges::upper_bound(all, return_address - 1, {}, &LandingPad::begin);
  return site != all.begin() && (--site)->end > return_address - 1 && site->pad == pad;
}

bool Module::is_untaken(std::uint64_t vaddr) const {
  return std::ranges::binary_search(facts_->pointer_targets.untaken, vaddr);
}

bool Module::is_through_chosen(std::uint64_t insn_vaddr) const {
  return std::ranges::binary_search(facts_->through_chosen, insn_vaddr);
}

bool Module::is_descriptor(std::uint64_t vaddr) const {
  return std::ranges::binary_search(facts_->descriptors, vaddr);
}

bool Module::is_linkers(std::uint64_t vaddr) const {
  return std::ranges::binary_search(facts_->linker_calls, vaddr);
}

bool Module::is_exported(std::uint64_t vaddr) const {
  const auto elf = ElfBytes::read(facts_->file);
  const auto exports = elf ? elf->exports() : std::nullopt;
  return !exports ||
         std::ranges::find(*exports, vaddr, &ElfBytes::Export::address) != exports->end();
}

std::vector<std::string_view> Module::exported_names(std::uint64_t vaddr) const {
  std::vector<std::string_view> out;
  if (!symbols().symbols().empty()) return out;
  const auto elf = ElfBytes::read(facts_->file);
  const auto exports = elf ? elf->exports() : std::nullopt;
  if (!exports) return out;
  for (const ElfBytes::Export& one : *exports) {
    if (one.address == vaddr) out.push_back(one.name);
  }
  return out;
}

bool Module::knows_untaken() const { return !facts_->pointer_targets.untaken.empty(); }

bool Module::is_exported_untaken(std::uint64_t vaddr) const {
  return std::ranges::binary_search(facts_->pointer_targets.exported, vaddr);
}

bool Module::asks_for(std::string_view name) const {
  return std::ranges::binary_search(facts_->asked, name);
}

std::span<const VirtualSlot> Module::virtual_slots(std::uint64_t vaddr) const {
  return std::ranges::equal_range(facts_->pointer_targets.slots, vaddr, {}, &VirtualSlot::function);
}

Ancestry Module::ancestry() const {
  const auto elf = ElfBytes::read(facts_->file);
  const Pointers pointers(*elf, elf->relocations());
  std::vector<std::uint64_t> named;
  for (const Pointer& p : pointers.all()) named.push_back(p.to);
  std::ranges::sort(named);
  const auto exports = elf->exports().value_or(std::vector<ElfBytes::Export>());
  return {*elf, pointers, Vtables(*elf, pointers, facts_->text, exports, std::move(named))};
}

std::string_view Module::name_at(std::uint64_t vaddr) const {
  const symbol::Symbol* symbol = symbols().at(vaddr);
  return symbol != nullptr && symbol->start == vaddr ? symbol->name : std::string_view();
}

std::span<const symbol::Symbol> Module::names_at(std::uint64_t vaddr) const {
  return std::ranges::equal_range(symbols().symbols(), vaddr, {}, &symbol::Symbol::start);
}

std::optional<isa::Pointer> Module::pointer_of(std::uint64_t insn_vaddr) const {
  if (mode() != isa::Mode::bits64) return std::nullopt;
  return branch_pointer(facts_->text, insn_vaddr);
}

const Slot* Module::slot_at(std::uint64_t vaddr) const { return facts_->slot_at(vaddr); }

const Slot* Module::slot_of(std::uint64_t insn_vaddr) const {
  const auto found = std::ranges::lower_bound(facts_->through, insn_vaddr, {}, &Slot::address);
  return found != facts_->through.end() && found->address == insn_vaddr ? &*found : nullptr;
}

std::vector<const Slot*> Module::slots_held(std::uint64_t insn_vaddr) const {
  std::vector<const Slot*> out;
  const auto reg = called_register(facts_->text, insn_vaddr);
  const Function* f = function(insn_vaddr);
  if (!reg || !is_preserved(*reg) || f == nullptr || mode() != isa::Mode::bits64) return out;
  for (std::uint64_t at = f->begin; at < f->end && is_text(at); ++at) {
    if (!has(at, kInsn)) continue;
    const auto place = loaded_place(bytes(at), at, *reg);
    const Slot* const slot = place ? facts_->slot_at(*place) : nullptr;
    if (slot != nullptr) out.push_back(slot);
  }
  return out;
}

Module::MayCall Module::may_call(std::uint64_t insn_vaddr) const {
  MayCall out;
  if (mode() != isa::Mode::bits64) return out;
  constexpr std::uint64_t kReach = 256;  // where the file does not say where the function begins
  const Function* f = function(insn_vaddr);
  Function near = {insn_vaddr - std::min(insn_vaddr, kReach), insn_vaddr + 1};
  while (!is_text(near.begin) && near.begin < insn_vaddr) ++near.begin;
  using Kind = RegisterFlow::Value::Kind;
  const RegisterFlow flow(facts_->text, f != nullptr ? *f : near, insn_vaddr,
                          [&](const RegisterFlow::Value& value) {
                            if (value.kind == Kind::loaded)
                              return facts_->slot_at(value.address) != nullptr;
                            return value.kind == Kind::number && is_text(value.address);
                          });
  for (const RegisterFlow::Value& value : flow.called(insn_vaddr)) {
    if (value.kind == Kind::loaded) {
      out.names.push_back(facts_->slot_at(value.address)->name);
    } else {
      out.addresses.push_back(value.address);
    }
  }
  return out;
}

ArgumentsRead Module::arguments_read(std::uint64_t vaddr) const {
  const Function* f = function(vaddr);
  if (f == nullptr || f->begin != vaddr || mode() != isa::Mode::bits64) return {};
  return text::arguments_read(facts_->text, *f);
}

ArgumentsSet Module::arguments_set(std::uint64_t insn_vaddr) const {
  const auto index = facts_->functions.index(insn_vaddr);
  if (!index || mode() != isa::Mode::bits64) return {};
  const std::vector<Function> parts = facts_->functions.parts(*index);
  return text::arguments_set(facts_->text, parts, insn_vaddr,
                             [this](std::uint64_t call) { return leaves(call); });
}

// null: no stub, or none that jumps through a slot in a straight line, or by a retpoline.
const Slot* Module::slot_of_stub(std::uint64_t vaddr) const {
  constexpr int kLongest = 3;  // ENDBR64, a load or NOP, the jump
  for (int i = 0; i < kLongest && has(vaddr, kPlt); ++i) {
    if (const Slot* slot = slot_of(vaddr)) return slot;
    const auto stub = insn(vaddr);
    if (!stub) return nullptr;
    const auto load = isa::decode_move(bytes(vaddr), vaddr);
    vaddr += stub->length;
    const bool loads = load && load->what == isa::Move::What::load && load->memory.address;
    const auto next = loads ? pointer_of(vaddr) : std::nullopt;
    if (next && next->in == load->to) return slot_at(*load->memory.address);
  }
  return nullptr;
}

// A call of a function that the file asks for by name and does not have, unless that keeps all
// registers: those of profilers, of code that makes room on the stack, and of OCaml's runtime do.
bool Module::leaves(std::uint64_t call) const {
  static constexpr std::array<std::string_view, 6> kKeep = {
      "__fentry__", "__morestack", "__rust_probestack", "_mcount", "mcount", "caml_"};
  const Slot* slot = slot_of(call);
  const auto direct = insn(call);
  if (direct && direct->cls == isa::InsnClass::call) slot = slot_of_stub(direct->target);
  if (slot == nullptr || slot->name.empty()) return false;
  if (std::ranges::any_of(kKeep, [&](auto name) { return slot->name.starts_with(name); })) {
    return false;
  }
  return !facts_->has_own(slot->name);
}

std::vector<std::string_view> Module::asked_by_name(std::uint64_t insn_vaddr) const {
  if (mode() != isa::Mode::bits64) return {};
  const auto elf = ElfBytes::read(facts_->file);
  if (!elf) return {};
  return AskedNames(*this, facts_->text, *elf).of(insn_vaddr);
}

bool Module::has_distance(std::uint64_t insn_vaddr, std::uint64_t address) const {
  const Function* f = function(insn_vaddr);
  if (f == nullptr || !got() || mode() != isa::Mode::bits64) return false;
  for (std::uint64_t at = f->begin; at < f->end && is_text(at); ++at) {
    if (has(at, kInsn) && number_moved(bytes(at)) == address - *got()) return true;
  }
  return false;
}

std::optional<Held> Module::held_at(std::uint64_t vaddr) const {
  const auto elf = ElfBytes::read(facts_->file);
  if (!elf) return std::nullopt;
  for (const Relocation& r : elf->relocations()) {
    if (r.place != vaddr) continue;
    if (r.kind == Relocation::Kind::relative) return Held{.address = r.addend};
    const std::string_view name = elf->symbol_name(r.symbol);
    if (!name.empty()) return Held{.name = name};
  }
  const auto word = elf->word(vaddr);
  return word ? std::optional(Held{.address = *word}) : std::nullopt;
}

std::span<const PatchSite> Module::patch_sites() const { return facts_->patch_sites; }

std::span<const Relocated> Module::relocated(std::uint64_t begin, std::uint64_t end) const {
  constexpr std::uint64_t kWord = 8;
  const auto& all = facts_->relocated;
  auto first = std::ranges::lower_bound(all, begin - std::min(begin, kWord), {}, &Relocated::place);
  const auto last = std::ranges::lower_bound(all, end, {}, &Relocated::place);
  while (first != last && first->place < begin && begin - first->place >= first->size) ++first;
  return first < last ? std::span(first, last) : std::span<const Relocated>();
}

std::string_view Module::callee_name(std::uint64_t vaddr) const {
  return without_stub(name_at(vaddr));
}

std::optional<std::uint64_t> Module::call_before(std::uint64_t return_address) const {
  if (!has(return_address, kReturnSite)) return std::nullopt;
  for (std::uint64_t length = 2; length <= 15 && length <= return_address; ++length) {
    const std::uint64_t at = return_address - length;
    if (!has(at, kInsn)) continue;
    const auto call = insn(at);
    if (!call || call->length != length) continue;
    if (call->cls == isa::InsnClass::call || call->cls == isa::InsnClass::icall) return at;
  }
  return std::nullopt;
}

std::string_view Module::callee_before(std::uint64_t return_address) const {
  const auto at = call_before(return_address);
  const auto call = at ? insn(*at) : std::nullopt;
  if (!call) return {};
  if (call->cls == isa::InsnClass::call) return callee_name(call->target);
  const Slot* slot = slot_of(*at);
  return slot == nullptr ? std::string_view() : slot->name;
}

}  // namespace hodo::text
