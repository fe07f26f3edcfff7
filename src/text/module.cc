#include "hodo/text/module.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>

#include "arguments.h"
#include "asked_names.h"
#include "branch_pointer.h"
#include "code_pieces.h"
#include "function_map.h"
#include "ghc_tables.h"
#include "go_tables.h"
#include "hodo/image/file.h"
#include "hodo/isa/moves.h"
#include "hodo/text/ancestry.h"
#include "hodo/text/elf_bytes.h"
#include "hodo/text/module_cache.h"
#include "hodo/text/names.h"
#include "jump_tables.h"
#include "kept_pointers.h"
#include "linker_calls.h"
#include "patch_sites.h"
#include "pic.h"
#include "pointer_targets.h"
#include "register_flow.h"
#include "sha256.h"
#include "sweep.h"
#include "text_facts.h"
#include "text_map.h"
#include "vtables.h"
#include "words.h"

namespace hodo::text {
namespace {

using symbol::Symbol;
using symbol::SymbolKind;

constexpr std::uint32_t kFeature1And = 0xc0000002;  // GNU_PROPERTY_X86_FEATURE_1_AND
constexpr std::uint32_t kFeatureIbt = 1;

// The x86-64 psABI, "Program Property": an array of { type, size, data padded to 8, on i386 to 4 }.
bool has_ibt_property(std::span<const std::uint8_t> properties, std::size_t alignment) {
  ByteReader reader(properties);
  for (;;) {
    const auto type = reader.read<std::uint32_t>();
    const auto size = reader.read<std::uint32_t>();
    if (!type || !size) return false;
    const auto data = reader.take(*size);
    if (!data) return false;
    if (*type == kFeature1And) {
      return (ByteReader(*data).read<std::uint32_t>().value_or(0) & kFeatureIbt) != 0;
    }
    if (!reader.take((alignment - *size % alignment) % alignment)) return false;
  }
}

bool linked_for_ibt(const ElfBytes& elf) {
  const auto part = elf.part(PT_GNU_PROPERTY);
  if (!part) return false;
  const auto all = elf.at(part->vaddr);
  ByteReader note(all.first(std::min<std::uint64_t>(all.size(), part->size)));
  const auto header = note.read<Elf64_Nhdr>();
  if (!header || header->n_type != NT_GNU_PROPERTY_TYPE_0 || header->n_namesz != 4) return false;
  if (!note.take(4)) return false;
  const auto properties = note.take(header->n_descsz);
  return properties && has_ibt_property(*properties, elf.word_size());
}

// Where the file does not say how long a function is, nobody knows what belongs to it.
std::vector<Function> functions_of(std::span<const Symbol> symbols) {
  std::vector<Function> out;
  for (const Symbol& s : symbols) {
    if (s.sized && s.size <= ~s.start) out.push_back({s.start, s.start + s.size});
  }
  return out;
}

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

// Small files are analysed faster than a file is found.
bool is_worth_keeping(const TextMap& text) {
  constexpr std::size_t kSmall = std::size_t{128} << 10;
  return std::ranges::any_of(text.stretches(),
                             [](const TextMap::Stretch& s) { return s.bytes.size() >= kSmall; });
}

bool load(const ModuleCache& cache, const ModuleCache::Key& key, TextFacts& facts) {
  const auto kept = cache.load(key);
  return kept && unpack(*kept, facts);
}

// Of all that an analysis is made from: symbols may come from another file.
Digest key_of(std::span<const std::uint8_t> file, const symbol::SymbolTable& symbols) {
  Sha256 sum;
  sum.add(file);
  for (const Symbol& s : symbols.symbols()) {
    const std::array<std::uint64_t, 3> about = {s.start, s.size,
                                                static_cast<std::uint64_t>(s.kind)};
    const auto bytes = std::as_bytes(std::span(about));
    sum.add({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
  }
  return sum.finish();
}

}  // namespace

struct Module::Facts : TextFacts {
  std::vector<std::uint8_t> file;
  std::shared_ptr<const symbol::SymbolTable> symbols;
  image::Elf elf;
  std::vector<Slot> slots;    // by address
  std::vector<Slot> through;  // by address, of the instructions that go through a slot
  std::vector<std::uint64_t> through_chosen;  // instructions, ascending
  std::vector<std::uint64_t> descriptors;     // of threads' variables, ascending
  std::vector<std::string_view> asked;        // names, ascending
  std::vector<KeptPointer> kept_pointers;
  std::vector<std::uint64_t> linker_calls;
  std::optional<std::uint64_t> got;
  std::vector<std::string> needed, wished;
  std::string soname;
  bool ibt = false;
  bool executes_stack = false;
  bool relocates_text = false;
  std::vector<Relocated> relocated;  // by place
  std::vector<PatchSite> patch_sites;
  mutable std::once_flag own_once;
  mutable std::vector<std::string_view> own;

  // The file has a symbol of this name itself, not only a stub that leads to others'.
  bool has_own(std::string_view name) const {
    std::call_once(own_once, [&] {
      for (const Symbol& s : symbols->symbols()) {
        if (s.kind != SymbolKind::plt) own.push_back(s.name);
      }
      std::ranges::sort(own);
    });
    return std::ranges::binary_search(own, name);
  }
  const Slot* slot_at(std::uint64_t address) const {  // null: none
    const auto slot = std::ranges::lower_bound(slots, address, {}, &Slot::address);
    return slot != slots.end() && slot->address == address ? &*slot : nullptr;
  }
};

namespace {

// Static programs register their tables by themselves; only the section says where they are.
image::UnwindSource unwind_source(const ElfBytes& elf) {
  const auto header = elf.part(PT_GNU_EH_FRAME);
  image::UnwindSource out{.at = [&elf](std::uint64_t vaddr) { return elf.at(vaddr); },
                          .size = elf.file().size(),
                          .narrow = elf.is_narrow()};
  if (header) {
    out.header = header->vaddr;
  } else {
    out.frames = elf.section(".eh_frame");
  }
  return out;
}

// Puts the facts together, one source after the other.
template <class Facts>
class Analysis {
 public:
  Analysis(const ElfBytes& elf, Facts& facts)
      : elf_(elf), facts_(facts), relocations_(elf.relocations()) {}

  // What takes long.
  void read_text() {
    image::UnwindTables unwind = image::read_unwind_tables(unwind_source(elf_));
    facts_.complete = unwind.complete;
    const image::UnwindTables compiled = {.functions = unwind.functions,
                                          .personalities = unwind.personalities,
                                          .frames = unwind.frames,
                                          .complete = unwind.complete};
    add_go_functions(elf_, relocations_, unwind);
    for (const Function& f : unwind.functions) start(f.begin);
    start_of_symbols();
    start(elf_.elf().entry);
    for (const std::int64_t tag : {DT_INIT, DT_FINI}) {
      const std::uint64_t function = elf_.dynamic(tag).value_or(0);
      start(function);
      if (function != 0) take(function);
    }
    take_relocations();
    const bool fixed = elf_.elf().type == image::ElfType::exec;
    if (fixed) take_constants();
    std::ranges::sort(taken_);
    const auto once = std::ranges::unique(taken_);
    taken_.erase(once.begin(), once.end());
    const std::vector<Function> pieces = code_pieces(elf_, taken_, facts_.text);
    for (const Function& piece : pieces) {
      start(piece.begin);
      facts_.text.mark(piece.begin, kTaken | kTableTarget);
    }
    std::ranges::sort(starts_);
    const auto got = elf_.is_narrow() ? got_address(elf_, facts_.text) : elf_.dynamic(DT_PLTGOT);
    const Addressing addressing = {.mode = elf_.mode(), .fixed = fixed, .got = got};
    Sweep found = sweep(facts_.text, starts_, taken_, addressing);
    std::vector<Function> named = functions_of(symbols());
    named.insert(named.end(), pieces.begin(), pieces.end());
    facts_.functions = FunctionMap(std::move(unwind.functions), std::move(named));
    facts_.functions.join(found.jumps);
    read_jump_tables(addressing, found);
    if (!elf_.is_narrow()) add_slow_entries(addressing, found);
    land(std::move(unwind.landings));
    facts_.pointer_targets =
        pointer_targets(elf_, relocations_, compiled, found, facts_.functions, facts_.text);
    facts_.through_slots = std::move(found.through_slots);
  }

  // What only a table leads to may have tables of its own.
  void read_jump_tables(const Addressing& addressing, Sweep& found) {
    constexpr int kMostRounds = 8;
    for (int round = 0; round < kMostRounds; ++round) {
      const JumpTables tables = mark_jump_tables(elf_, found, facts_.functions, facts_.text);
      if (!tables.complete) facts_.complete = false;
      if (!tables.complete || tables.unread.empty()) return;
      sweep_on(facts_.text, tables.unread, addressing, found);
      facts_.functions.join(found.jumps);
    }
  }

  void add_slow_entries(const Addressing& addressing, Sweep& found) {
    std::vector<std::uint64_t> entries = taken_;
    for (const Sweep::Reference& label : found.labels) entries.push_back(label.to);
    const std::vector<std::uint64_t> slow = slow_entries(entries, facts_.text);
    for (const std::uint64_t entry : slow) facts_.text.mark(entry, kStart | kTableTarget);
    sweep_on(facts_.text, slow, addressing, found);
  }

  // The rest, when the text has been read.
  void read_headers() {
    name_slots();
    list_through_chosen();
    list_descriptors();
    name_asked();
    facts_.linker_calls = linker_calls(elf_, relocations_);
    facts_.kept_pointers = kept_pointers(elf_, relocations_, symbols(), facts_.functions);
    facts_.got = elf_.dynamic(DT_PLTGOT);
    facts_.needed = elf_.needed();
    facts_.wished = elf_.wished();
    facts_.soname = elf_.soname();
    facts_.ibt = linked_for_ibt(elf_);
    const auto stack = elf_.part(PT_GNU_STACK);
    facts_.executes_stack = stack && (stack->flags & PF_X) != 0;
    facts_.relocates_text =
        elf_.dynamic(DT_TEXTREL) || (elf_.dynamic(DT_FLAGS).value_or(0) & DF_TEXTREL) != 0;
    if (facts_.relocates_text) list_relocated();
    facts_.patch_sites = text::patch_sites(elf_, facts_.text);
  }

 private:
  std::span<const Symbol> symbols() const { return facts_.symbols->symbols(); }

  void start(std::uint64_t vaddr) {
    if (vaddr != 0 && facts_.text.mark(vaddr, kStart)) starts_.push_back(vaddr);
  }

  void take(std::uint64_t vaddr) {
    if (facts_.text.mark(vaddr, kTaken)) taken_.push_back(vaddr);
  }

  void start_of_symbols() {
    for (const Symbol& s : symbols()) {
      start(s.start);
      if (s.kind != SymbolKind::plt) continue;
      for (std::uint64_t i = 0; i < std::min<std::uint64_t>(s.size, 16); ++i) {
        facts_.text.mark(s.start + i, kPlt);
      }
    }
  }

  // Addresses of the file's own code that the dynamic linker stores somewhere.
  void take_relocations() {
    for (const Relocation& r : relocations_) {
      if (r.kind == Relocation::Kind::relative) {
        take(r.addend);
      } else if (const auto value = elf_.symbol_value(r.symbol)) {
        const bool adds = r.kind == Relocation::Kind::absolute;
        take(elf_.cut(*value + (adds ? r.addend : 0)));
      }
    }
  }

  // Text that does not move has its addresses in data as they are. Some linkers put read-only data
  // among the text.
  void take_constants() {
    for (const image::Segment& segment : elf_.elf().segments) {
      for_each_word(elf_, segment, [&](std::uint64_t, std::uint64_t word) { take(word); });
    }
  }

  void land(std::vector<LandingPad> landings) {
    for (const LandingPad& l : landings) facts_.text.mark(l.pad, kLanding);
    std::ranges::sort(landings, {}, &LandingPad::begin);
    facts_.landings = std::move(landings);
  }

  void name_slots() {
    for (const Relocation& r : relocations_) {
      if (r.kind != Relocation::Kind::slot) continue;
      const std::string_view name = elf_.symbol_name(r.symbol);
      const std::uint64_t initial = elf_.word(r.place).value_or(0);
      if (!name.empty()) facts_.slots.push_back({r.place, name, initial});
    }
    std::ranges::stable_sort(facts_.slots, {}, &Slot::address);
    for (const Sweep::Reference& r : facts_.through_slots) {
      const auto slot = std::ranges::lower_bound(facts_.slots, r.to, {}, &Slot::address);
      if (slot == facts_.slots.end() || slot->address != r.to) continue;
      facts_.through.push_back({r.from, slot->name, slot->initial});
    }
    std::ranges::stable_sort(facts_.through, {}, &Slot::address);
  }

  void list_through_chosen() {
    std::vector<std::uint64_t> chosen;
    for (const Relocation& r : relocations_) {
      if (r.chooses) chosen.push_back(r.place);
    }
    std::ranges::sort(chosen);
    for (const Sweep::Reference& r : facts_.through_slots) {
      if (std::ranges::binary_search(chosen, r.to)) facts_.through_chosen.push_back(r.from);
    }
    std::ranges::sort(facts_.through_chosen);
  }

  void list_descriptors() {
    for (const Relocation& r : relocations_) {
      if (r.describes) facts_.descriptors.push_back(r.place);
    }
    std::ranges::sort(facts_.descriptors);
  }

  void list_relocated() {
    constexpr std::size_t kDistance = 4;  // of relocations for distances, whatever the machine
    for (const Relocation& r : relocations_) {
      if (!facts_.text.contains(r.place)) continue;
      const bool other = r.kind == Relocation::Kind::other;
      const bool own = r.kind == Relocation::Kind::relative;
      facts_.relocated.push_back({.place = r.place,
                                  .size = other ? kDistance : elf_.word_size(),
                                  .address = own ? std::optional(r.addend) : std::nullopt});
    }
    std::ranges::stable_sort(facts_.relocated, {}, &Relocated::place);
  }

  void name_asked() {
    for (const Relocation& r : relocations_) {
      if (r.symbol == 0 || r.lazy) continue;
      if (const auto name = elf_.symbol_name(r.symbol); !name.empty()) facts_.asked.push_back(name);
    }
    std::ranges::sort(facts_.asked);
  }

  const ElfBytes& elf_;
  Facts& facts_;
  std::vector<Relocation> relocations_;
  std::vector<std::uint64_t> starts_;
  std::vector<std::uint64_t> taken_;
};

}  // namespace

Module::Module(std::unique_ptr<const Facts> facts) : facts_(std::move(facts)) {}
Module::~Module() = default;

Result<std::shared_ptr<const Module>> Module::make(
    std::vector<std::uint8_t> bytes, std::shared_ptr<const symbol::SymbolTable> symbols,
    const ModuleCache* cache) {
  auto facts = std::make_unique<Facts>();
  facts->file = std::move(bytes);
  facts->symbols = std::move(symbols);
  auto elf = ElfBytes::read(facts->file);
  if (!elf) return std::unexpected(elf.error());
  auto text = TextMap::make(*elf);
  if (!text) return std::unexpected(text.error());
  facts->text = std::move(*text);
  facts->elf = elf->elf();
  Analysis analysis(*elf, *facts);
  const bool keeps = cache != nullptr && is_worth_keeping(facts->text);
  const auto key = keeps ? std::optional(key_of(facts->file, *facts->symbols)) : std::nullopt;
  // Half unpacked, the text has marks that nobody found.
  TextFacts known{.text = facts->text};
  if (keeps && load(*cache, *key, known)) {
    static_cast<TextFacts&>(*facts) = std::move(known);
  } else {
    facts->text.unmark();
    analysis.read_text();
    facts->text.keep();
    if (keeps) cache->store(*key, pack(*facts));
  }
  analysis.read_headers();
  return std::shared_ptr<const Module>(new Module(std::move(facts)));
}

Result<std::shared_ptr<const Module>> Module::analyze(const std::string& path,
                                                      const ModuleCache* cache) {
  auto file = image::RegularFile::open(path);
  if (!file) return std::unexpected(file.error());
  auto bytes = file->read_all(kLargestFile);
  if (!bytes) return std::unexpected(bytes.error());
  auto symbols = symbol::SymbolTable::open(path);
  if (!symbols) return std::unexpected(symbols.error());
  auto module = make(std::move(*bytes), std::move(*symbols), cache);
  if (!module) module.error().message = path + ": " + module.error().message;
  return module;
}

Result<std::shared_ptr<const Module>> Module::analyze(std::vector<std::uint8_t> bytes) {
  auto symbols = symbol::SymbolTable::from_bytes(bytes);
  if (!symbols) return std::unexpected(symbols.error());
  return make(std::move(bytes), std::move(*symbols), nullptr);
}

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
  const Symbol* symbol = symbols().at(vaddr);
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
