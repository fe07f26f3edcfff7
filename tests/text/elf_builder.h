// Small ELF files by hand: text at 0x1000, read-only data at 0x2000, unwind tables at 0x3000.
#pragma once

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

namespace hodo::text {

using Bytes = std::vector<std::uint8_t>;

inline constexpr std::uint64_t kText = 0x1000;
inline constexpr std::uint64_t kData = 0x2000;
inline constexpr std::uint64_t kUnwind = 0x3000;

template <class T>
void append(Bytes& out, const T& value) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(&value);
  out.insert(out.end(), bytes, bytes + sizeof value);
}

inline void append(Bytes& out, const Bytes& more) {
  out.insert(out.end(), more.begin(), more.end());
}

// A function for the unwind tables, with one call site: [start, start + size) within it lands at
// `pad`; 0: nowhere.
struct Unwound {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint8_t start = 0;
  std::uint8_t size = 1;
  std::uint8_t pad = 0;
};

struct Class64 {
  using Ehdr = Elf64_Ehdr;
  using Phdr = Elf64_Phdr;
  static constexpr unsigned char kClass = ELFCLASS64;
  static constexpr std::uint16_t kMachine = EM_X86_64;
};
struct Class32 {
  using Ehdr = Elf32_Ehdr;
  using Phdr = Elf32_Phdr;
  static constexpr unsigned char kClass = ELFCLASS32;
  static constexpr std::uint16_t kMachine = EM_386;
};

// Offsets in the file are the addresses.
class ElfBuilder {
 public:
  Bytes text, data;
  std::vector<Unwound> functions;
  std::uint64_t personality = 0;  // of all of them; 0: none
  std::size_t unwind_cut = 0;     // bytes that the unwind tables lack at their end
  std::uint64_t entry = 0;
  std::uint16_t type = ET_DYN;
  std::vector<Elf64_Phdr> more;
  std::uint64_t dynamic = 0;  // where data has a dynamic section up to its end; 0: none
  bool narrow = false;        // for i386

  Bytes build() const { return narrow ? build_as<Class32>() : build_as<Class64>(); }

 private:
  template <class Class>
  Bytes build_as() const {
    using Phdr = typename Class::Phdr;
    const Bytes unwind = unwind_tables();
    std::vector<Phdr> headers;
    const auto add = [&](std::uint32_t kind, std::uint64_t at, std::uint64_t size,
                         std::uint32_t flags) {
      using Word = decltype(Phdr::p_offset);
      Phdr header{};
      header.p_type = kind;
      header.p_flags = flags;
      header.p_offset = header.p_vaddr = header.p_paddr = static_cast<Word>(at);
      header.p_filesz = header.p_memsz = static_cast<Word>(size);
      header.p_align = 0x1000;
      headers.push_back(header);
    };
    add(PT_LOAD, kText, text.size(), PF_R | PF_X);
    add(PT_LOAD, kData, data.size(), PF_R);
    add(PT_LOAD, kUnwind, unwind.size(), PF_R);
    if (!unwind.empty()) add(PT_GNU_EH_FRAME, kUnwind, unwind.size(), PF_R);
    if (dynamic != 0) add(PT_DYNAMIC, dynamic, kData + data.size() - dynamic, PF_R);
    if constexpr (std::is_same_v<Class, Class64>) {
      headers.insert(headers.end(), more.begin(), more.end());
    }
    typename Class::Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = Class::kClass;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    header.e_type = type;
    header.e_machine = Class::kMachine;
    header.e_version = EV_CURRENT;
    header.e_entry = static_cast<decltype(header.e_entry)>(entry);
    header.e_ehsize = sizeof header;
    header.e_phentsize = sizeof(Phdr);
    header.e_phnum = static_cast<std::uint16_t>(headers.size());
    Bytes out(sizeof header);
    for (const auto& [at, bytes] :
         {std::pair(kText, &text), std::pair(kData, &data), std::pair(kUnwind, &unwind)}) {
      if (bytes->empty()) continue;
      out.resize(at);
      append(out, *bytes);
    }
    header.e_phoff = static_cast<decltype(header.e_phoff)>(out.size());
    std::memcpy(out.data(), &header, sizeof header);
    for (const Phdr& p : headers) append(out, p);
    return out;
  }

  // .eh_frame_hdr, one CIE ("zLR" or "zPLR", addresses pcrel sdata4), an FDE for each function, the
  // end of .eh_frame, then the functions' LSDAs.
  Bytes unwind_tables() const {
    constexpr std::size_t kFdeSize = 21;
    constexpr std::size_t kLsdaSize = 8;
    Bytes out;
    if (functions.empty()) return out;
    const auto relative = [&](std::uint64_t target) {
      append(out, static_cast<std::int32_t>(target - (kUnwind + out.size())));
    };
    append(out, Bytes{1, 0x1b, 0xff, 0xff});
    relative(kUnwind + 8);
    if (personality == 0) {
      append(out, Bytes{15, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'L', 'R', 0, 1, 0x78, 16, 2, 0x1b, 0x1b});
    } else {
      append(out, Bytes{21, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'P', 'L', 'R', 0, 1, 0x78, 16, 7, 0x1b});
      relative(personality);
      append(out, Bytes{0x1b, 0x1b});
    }
    const std::uint64_t lsdas = kUnwind + out.size() + functions.size() * kFdeSize + 4;
    for (std::size_t i = 0; i < functions.size(); ++i) {
      append(out, std::uint32_t{kFdeSize - 4});
      append(out, static_cast<std::uint32_t>(out.size() - 8));
      relative(functions[i].begin);
      append(out, static_cast<std::int32_t>(functions[i].end - functions[i].begin));
      out.push_back(4);
      relative(lsdas + i * kLsdaSize);
    }
    append(out, std::uint32_t{0});
    for (const Unwound& f : functions) {
      append(out, Bytes{0xff, 0xff, 1, 4, f.start, f.size, f.pad, 0});
    }
    out.resize(out.size() - unwind_cut);
    return out;
  }
};

}  // namespace hodo::text
