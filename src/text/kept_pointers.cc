#include "kept_pointers.h"

#include <elf.h>

#include <algorithm>

#include "hodo/text/names.h"
#include "words.h"

namespace hodo::text {
namespace {

struct Sensitive {
  std::uint64_t address = 0;
  std::string_view name;
};

class Collector {
 public:
  Collector(const ElfBytes& elf, std::span<const symbol::Symbol> symbols,
            const FunctionMap& functions)
      : elf_(elf), functions_(functions) {
    for (const symbol::Symbol& s : symbols) {
      const std::string_view name = without_stub(s.name);
      if (is_sensitive(name)) sensitive_.push_back({s.start, name});
    }
    std::ranges::stable_sort(sensitive_, {}, &Sensitive::address);
  }

  void take(std::span<const Relocation> relocations) {
    for (const Relocation& r : relocations) {
      if (r.kind == Relocation::Kind::relative) add(r.addend, elf_.is_constant(r.place));
      if (r.kind != Relocation::Kind::absolute || r.addend != 0) continue;
      const std::string_view name = elf_.symbol_name(r.symbol);
      if (is_sensitive(name)) out_.push_back({name, elf_.is_constant(r.place)});
    }
  }

  // Of a program that does not move, addresses stand in the data as they are.
  void take_words() {
    if (sensitive_.empty()) return;
    const std::uint64_t lowest = sensitive_.front().address;
    const std::uint64_t span = sensitive_.back().address - lowest;
    for (const image::Segment& segment : elf_.elf().segments) {
      for_each_word(elf_, segment, [&](std::uint64_t place, std::uint64_t word) {
        if (word - lowest <= span) take_word(place, word, segment.executable);
      });
    }
  }

  std::vector<KeptPointer> result() && { return std::move(out_); }

 private:
  // The symbol itself has the address of its stub (psABI, "Function Addresses").
  bool is_symbol(std::uint64_t place, std::string_view name) const {
    const auto table = elf_.dynamic(DT_SYMTAB);
    if (!table || place < *table) return false;
    const std::size_t size = elf_.is_narrow() ? sizeof(Elf32_Sym) : sizeof(Elf64_Sym);
    const std::uint64_t index = (place - *table) / size;
    return index <= ~std::uint32_t{0} &&
           elf_.symbol_name(static_cast<std::uint32_t>(index)) == name;
  }

  void add(std::uint64_t address, bool constant) {
    for (const Sensitive& s :
         std::ranges::equal_range(sensitive_, address, {}, &Sensitive::address)) {
      out_.push_back({s.name, constant});
    }
  }

  void take_word(std::uint64_t place, std::uint64_t word, bool executable) {
    const auto found = std::ranges::lower_bound(sensitive_, word, {}, &Sensitive::address);
    if (found == sensitive_.end() || found->address != word) return;
    // Constants may lie between functions, but what lies in one is code that makes a pointer.
    if (executable && functions_.at(place) != nullptr) return;
    if (!is_symbol(place, found->name)) add(word, elf_.is_constant(place));
  }

  const ElfBytes& elf_;
  const FunctionMap& functions_;
  std::vector<Sensitive> sensitive_;  // by address
  std::vector<KeptPointer> out_;
};

}  // namespace

std::vector<KeptPointer> kept_pointers(const ElfBytes& elf, std::span<const Relocation> relocations,
                                       std::span<const symbol::Symbol> symbols,
                                       const FunctionMap& functions) {
  Collector collector(elf, symbols, functions);
  collector.take(relocations);
  if (elf.elf().type == image::ElfType::exec) collector.take_words();
  return std::move(collector).result();
}

}  // namespace hodo::text
