#include "program_start.h"

#include <elf.h>

#include <algorithm>

#include "hodo/base/page.h"

namespace hodo::plugin {
namespace {

constexpr std::uint64_t kMostWords = 1 << 20;

// Where the auxiliary vector begins: behind argc, the arguments and the environment, each with a
// null at its end (System V ABI, AMD64 supplement, figure 3.9). 0: not where it should be.
std::uint64_t auxiliary_vector(const Guest& guest, std::uint64_t sp) {
  const std::uint64_t word = guest.wide() ? 8 : 4;
  const auto arguments = sp != 0 ? guest.read_word(sp) : std::nullopt;
  if (!arguments || *arguments > kMostWords) return 0;
  std::uint64_t at = sp + (*arguments + 2) * word;
  for (std::uint64_t n = 0; n < kMostWords; ++n, at += word) {
    const auto variable = guest.read_word(at);
    if (!variable) return 0;
    if (*variable == 0) return at + word;
  }
  return 0;
}

template <class Header, class Segment>
std::uint64_t image_size(const Guest& guest, std::uint64_t base) {
  const auto header = guest.read<Header>(base);
  if (!header || header->e_phentsize != sizeof(Segment)) return 0;
  std::uint64_t end = 0;
  for (std::uint64_t n = 0; n < header->e_phnum; ++n) {
    const auto segment = guest.read<Segment>(base + header->e_phoff + n * sizeof(Segment));
    if (!segment) return 0;
    if (segment->p_type == PT_LOAD) {
      end = std::max<std::uint64_t>(end, segment->p_vaddr + segment->p_memsz);
    }
  }
  return (end + kPage - 1) / kPage * kPage;
}

}  // namespace

ProgramStart program_start(const Guest& guest, std::uint64_t sp) {
  constexpr std::uint64_t kMostEntries = 100;  // the kernel has some thirty
  ProgramStart out;
  const std::uint64_t word = guest.wide() ? 8 : 4;
  std::uint64_t at = auxiliary_vector(guest, sp);
  for (std::uint64_t n = 0; at != 0 && n < kMostEntries; ++n, at += 2 * word) {
    const auto type = guest.read_word(at), value = guest.read_word(at + word);
    if (!type || !value || *type == AT_NULL) break;
    if (*type == AT_ENTRY) out.entry = *value;
    if (*type == AT_SYSINFO_EHDR) {
      const std::uint64_t size = guest.wide() ? image_size<Elf64_Ehdr, Elf64_Phdr>(guest, *value)
                                              : image_size<Elf32_Ehdr, Elf32_Phdr>(guest, *value);
      out.vdso = {*value, *value + size};
    }
  }
  return out;
}

}  // namespace hodo::plugin
