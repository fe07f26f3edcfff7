// A cache folder of somebody else's making: whatever a file in it says, it is refused or a usable
// analysis of the text it is for.
#include "hodo/text/module_cache.h"

#include <bit>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "elf_builder.h"
#include "text_facts.h"

namespace {

using namespace hodo::text;

const Bytes& program() {
  static const Bytes bytes = [] {
    ElfBuilder elf;
    elf.text = {0xe8, 0x03, 0x00, 0x00, 0x00, 0xff, 0xd0, 0xc3, 0x90, 0xc3};
    elf.functions = {{.begin = kText, .end = kText + 8, .size = 5, .pad = 7},
                     {.begin = kText + 8, .end = kText + 10}};
    return elf.build();
  }();
  return bytes;
}

void look_up(const TextFacts& facts) {
  std::uint64_t end = 0;
  for (const Function& f : facts.functions.all()) {
    if (f.begin < end || f.begin >= f.end) std::abort();
    end = f.end;
    if (!facts.functions.same(f.begin, f.end - 1)) std::abort();
  }
  for (const TextMap::Stretch& s : facts.text.stretches()) {
    std::size_t marked = 0;
    std::size_t most = 0;
    for (std::size_t i = 0; i < s.bytes.size(); ++i) {
      if (facts.text.marks(s.begin + i) != 0) ++marked;
    }
    for (const KeptMarks::Row& row : s.kept.rows()) {
      most += static_cast<std::size_t>(std::popcount(row.some));
    }
    if (marked > most || most > s.bytes.size()) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span input(data, size);
  ModuleCache::Key key{};
  // The key that the header names, so that what lies behind it is read.
  for (std::size_t i = 0; i < key.size() && 8 + i < size; ++i) key[i] = data[8 + i];
  (void)unwrap(input, key);
  static const auto elf = ElfBytes::read(program());
  TextFacts facts{.text = *TextMap::make(*elf)};
  if (!unpack(Bytes(input.begin(), input.end()), facts)) return 0;
  look_up(facts);
  if (pack(facts) != Bytes(input.begin(), input.end())) std::abort();
  return 0;
}
