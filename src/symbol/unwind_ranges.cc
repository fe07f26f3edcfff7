// Source: LSB 5.0, "Exception Frames". libdw takes the entries apart but for the encoded pointers.
#include "unwind_ranges.h"

#include <dwarf.h>
#include <elfutils/libdw.h>

#include <map>
#include <optional>
#include <string_view>

#include "hodo/base/byte_reader.h"

namespace hodo::symbol {
namespace {

// Of an encoding: the format, and what the number counts from.
constexpr std::uint8_t kFormatMask = 0x0f;
constexpr std::uint8_t kBaseMask = 0x70;

template <class T>
std::optional<std::uint64_t> widened(ByteReader& in) {
  const auto value = in.read<T>();
  if (!value) return std::nullopt;
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(*value));
}

// A number in one of the fixed sizes.
std::optional<std::uint64_t> read_number(ByteReader& in, std::uint8_t encoding, bool wide) {
  switch (encoding & kFormatMask) {
    case DW_EH_PE_absptr:
      return wide ? in.read<std::uint64_t>() : widened<std::uint32_t>(in);
    case DW_EH_PE_udata2:
      return widened<std::uint16_t>(in);
    case DW_EH_PE_udata4:
      return widened<std::uint32_t>(in);
    case DW_EH_PE_udata8:
    case DW_EH_PE_sdata8:
      return in.read<std::uint64_t>();
    case DW_EH_PE_sdata2:
      return widened<std::int16_t>(in);
    case DW_EH_PE_sdata4:
      return widened<std::int32_t>(in);
    default:
      return std::nullopt;
  }
}

// How the FDEs of a CIE write their functions' addresses.
std::optional<std::uint8_t> encoding_of(const Dwarf_CIE& cie, bool wide) {
  std::string_view letters(cie.augmentation);
  if (!letters.starts_with('z')) return DW_EH_PE_absptr;
  letters.remove_prefix(1);
  ByteReader in({cie.augmentation_data, cie.augmentation_data_size});
  for (const char letter : letters) {
    if (letter == 'S' || letter == 'B') continue;
    const auto byte = in.read<std::uint8_t>();
    if (!byte || letter == 'R') return byte;
    if (letter == 'L') continue;
    if (letter != 'P' || !read_number(in, *byte, wide)) return std::nullopt;
  }
  return DW_EH_PE_absptr;
}

// The section's entries, one after the other.
class TableReader {
 public:
  TableReader(const Section& table, std::span<const std::uint8_t> bytes, bool wide)
      : table_(table), bytes_(bytes), wide_(wide) {}

  std::vector<UnwindRange> read(const unsigned char* ident);

 private:
  std::optional<UnwindRange> range_of(const Dwarf_FDE& fde) const;

  const Section& table_;
  std::span<const std::uint8_t> bytes_;
  bool wide_;
  // How the FDEs of the CIE at an offset write addresses; nullopt: nobody knows.
  std::map<Dwarf_Off, std::optional<std::uint8_t>> encodings_;
};

std::vector<UnwindRange> TableReader::read(const unsigned char* ident) {
  std::vector<UnwindRange> out;
  Elf_Data data{};
  data.d_buf = const_cast<std::uint8_t*>(bytes_.data());  // is only read
  data.d_type = ELF_T_BYTE;
  data.d_version = EV_CURRENT;
  data.d_size = bytes_.size();
  for (Dwarf_Off at = 0, next = 0; at < bytes_.size(); at = next) {
    Dwarf_CFI_Entry entry{};
    next = at;
    const int result = dwarf_next_cfi(ident, &data, true, at, &next, &entry);
    if (next <= at || next > bytes_.size()) break;
    if (result != 0) continue;
    if (dwarf_cfi_cie_p(&entry)) {
      encodings_[at] = encoding_of(entry.cie, wide_);
    } else if (const auto range = range_of(entry.fde)) {
      out.push_back(*range);
    }
  }
  return out;
}

std::optional<UnwindRange> TableReader::range_of(const Dwarf_FDE& fde) const {
  const auto encoding = encodings_.find(fde.CIE_pointer);
  if (encoding == encodings_.end() || !encoding->second) return std::nullopt;
  const std::uint8_t how = *encoding->second;
  const std::uint8_t base = how & kBaseMask;
  const bool relative = base == DW_EH_PE_pcrel;
  if ((how & DW_EH_PE_indirect) != 0 || (!relative && base != DW_EH_PE_absptr)) {
    return std::nullopt;
  }
  ByteReader in({fde.start, fde.end});
  const auto start = read_number(in, how, wide_);
  const auto size = read_number(in, how, wide_);
  const std::uint64_t mask = wide_ ? ~std::uint64_t{0} : 0xffffffff;
  if (!start || !size || (*size & mask) == 0) return std::nullopt;
  const auto offset = static_cast<std::uint64_t>(fde.start - bytes_.data());
  return UnwindRange{(*start + (relative ? table_.address + offset : 0)) & mask, *size & mask};
}

}  // namespace

std::vector<UnwindRange> unwind_ranges(const ElfFile& file, const image::Elf& elf) {
  const Section* const table = file.section(".eh_frame");
  std::size_t ident_size = 0;
  const char* const ident = elf_getident(file.handle(), &ident_size);
  if (table == nullptr || ident == nullptr || ident_size < EI_NIDENT) return {};
  const auto bytes = file.bytes(*table);
  if (bytes.empty()) return {};
  return TableReader(*table, bytes, elf.elf_class == image::ElfClass::elf64)
      .read(reinterpret_cast<const unsigned char*>(ident));
}

}  // namespace hodo::symbol
