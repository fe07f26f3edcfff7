// Small ELF files by hand: text at 0x1000, read-only data at 0x2000, unwind tables at 0x3000.
#pragma once

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <vector>

namespace hodo::check {

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

// Offsets in the file are the addresses.
class ElfBuilder {
 public:
  Bytes text, data;
  std::vector<Unwound> functions;
  std::size_t unwind_cut = 0;  // bytes that the unwind tables lack at their end
  std::uint64_t entry = 0;
  std::uint16_t type = ET_DYN;
  std::vector<Elf64_Phdr> more;

  Bytes build() const {
    const Bytes unwind = unwind_tables();
    std::vector<Elf64_Phdr> headers;
    const auto load = [&](std::uint64_t at, const Bytes& bytes, std::uint32_t flags) {
      headers.push_back({.p_type = PT_LOAD,
                         .p_flags = flags,
                         .p_offset = at,
                         .p_vaddr = at,
                         .p_paddr = at,
                         .p_filesz = bytes.size(),
                         .p_memsz = bytes.size(),
                         .p_align = 0x1000});
    };
    load(kText, text, PF_R | PF_X);
    load(kData, data, PF_R);
    load(kUnwind, unwind, PF_R);
    if (!unwind.empty()) {
      headers.push_back(headers.back());
      headers.back().p_type = PT_GNU_EH_FRAME;
    }
    headers.insert(headers.end(), more.begin(), more.end());
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    header.e_type = type;
    header.e_machine = EM_X86_64;
    header.e_version = EV_CURRENT;
    header.e_entry = entry;
    header.e_ehsize = sizeof header;
    header.e_phentsize = sizeof(Elf64_Phdr);
    header.e_phnum = static_cast<std::uint16_t>(headers.size());
    Bytes out(sizeof header);
    for (const auto& [at, bytes] :
         {std::pair(kText, &text), std::pair(kData, &data), std::pair(kUnwind, &unwind)}) {
      if (bytes->empty()) continue;
      out.resize(at);
      append(out, *bytes);
    }
    header.e_phoff = out.size();
    std::memcpy(out.data(), &header, sizeof header);
    for (const Elf64_Phdr& p : headers) append(out, p);
    return out;
  }

 private:
  // .eh_frame_hdr, one CIE ("zLR", addresses pcrel sdata4), an FDE for each function, the end of
  // .eh_frame, then the functions' LSDAs.
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
    append(out, Bytes{15, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'L', 'R', 0, 1, 0x78, 16, 2, 0x1b, 0x1b});
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

}  // namespace hodo::check
