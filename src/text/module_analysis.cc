// Takes a file apart: the facts of a module, one source after the other.
#include <elf.h>

#include <algorithm>
#include <array>

#include "code_pieces.h"
#include "function_map.h"
#include "ghc_tables.h"
#include "go_tables.h"
#include "hodo/image/file.h"
#include "hodo/text/elf_bytes.h"
#include "hodo/text/module.h"
#include "hodo/text/module_cache.h"
#include "jump_tables.h"
#include "kept_pointers.h"
#include "linker_calls.h"
#include "module_facts.h"
#include "patch_sites.h"
#include "pic.h"
#include "pointer_targets.h"
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

}  // namespace hodo::text
