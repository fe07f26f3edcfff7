#include "hodo/image/unwind_tables.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "hodo/base/byte_reader.h"

namespace hodo::image {
namespace {

// DW_EH_PE_*: how a pointer is written, and what it counts from.
enum Encoding : std::uint8_t {
  kOmitted = 0xff,
  kFormatMask = 0x0f,
  kBaseMask = 0x70,
  kPcRelative = 0x10,
  kDataRelative = 0x30,
  kFunctionRelative = 0x40,
  kIndirect = 0x80,
};

std::optional<std::uint64_t> read_uleb(ByteReader& reader) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    const auto byte = reader.read<std::uint8_t>();
    if (!byte) return std::nullopt;
    value |= std::uint64_t{*byte & 0x7fu} << shift;
    if ((*byte & 0x80) == 0) return value;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> read_sleb(ByteReader& reader) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    const auto byte = reader.read<std::uint8_t>();
    if (!byte) return std::nullopt;
    value |= std::uint64_t{*byte & 0x7fu} << shift;
    if ((*byte & 0x80) != 0) continue;
    if (shift < 57 && (*byte & 0x40) != 0) value |= ~std::uint64_t{0} << (shift + 7);
    return value;
  }
  return std::nullopt;
}

template <class T>
std::optional<std::uint64_t> read_as(ByteReader& reader) {
  const auto value = reader.read<T>();
  if (!value) return std::nullopt;
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(*value));
}

// Bytes with the address at which they lie, which pc-relative pointers count from.
class Cursor {
 public:
  Cursor(std::span<const std::uint8_t> bytes, std::uint64_t vaddr, bool narrow)
      : reader_(bytes), vaddr_(vaddr), narrow_(narrow) {}

  ByteReader& reader() { return reader_; }
  std::uint64_t here() const { return vaddr_ + reader_.offset(); }

  std::optional<std::uint64_t> raw(std::uint8_t encoding) {
    switch (encoding & kFormatMask) {
      case 0x00:
        if (narrow_) return read_as<std::uint32_t>(reader_);
        [[fallthrough]];
      case 0x04:
      case 0x0c:
        return reader_.read<std::uint64_t>();
      case 0x01:
        return read_uleb(reader_);
      case 0x02:
        return read_as<std::uint16_t>(reader_);
      case 0x03:
        return read_as<std::uint32_t>(reader_);
      case 0x09:
        return read_sleb(reader_);
      case 0x0a:
        return read_as<std::int16_t>(reader_);
      case 0x0b:
        return read_as<std::int32_t>(reader_);
      default:
        return std::nullopt;
    }
  }

  // A pointer; 0 stands for none, as in the format. nullopt: cut off, or an encoding that no
  // compiler for this machine uses here.
  std::optional<std::uint64_t> pointer(std::uint8_t encoding, std::uint64_t function = 0) {
    const std::uint64_t place = here();
    auto value = raw(encoding);
    if (!value || *value == 0) return value;
    switch (encoding & kBaseMask) {
      case 0:
        return value;
      case kPcRelative:
        return cut(place + *value);
      case kFunctionRelative:
        return cut(function + *value);
      default:
        return std::nullopt;
    }
  }

 private:
  std::uint64_t cut(std::uint64_t address) const {
    return narrow_ ? address & 0xffffffff : address;
  }

  ByteReader reader_;
  std::uint64_t vaddr_;
  bool narrow_;
};

// Whether the rules of an entry say of its first instruction another frame than the CIE's, which is
// that of a call: DWARF 5, section 6.4.2, as far as compilers use it before they advance.
bool begins_in_frame(ByteReader rules) {
  enum Rule : std::uint8_t { kNop = 0, kDefCfa = 0x0c, kDefCfaExpression = 0x0f, kOffset = 0x80 };
  constexpr std::uint8_t kPrimary = 0xc0;  // bits of rules that hold their operand
  for (;;) {
    const auto rule = rules.read<std::uint8_t>();
    if (!rule) return false;
    if (*rule == kNop) continue;
    return (*rule & kPrimary) == kOffset || (*rule >= kDefCfa && *rule <= kDefCfaExpression);
  }
}

// Common information entry: how its functions' entries are written.
struct Cie {
  std::uint8_t pointers = 0;  // encoding of the functions' addresses
  std::uint8_t lsda = kOmitted;
  bool has_augmentation = false;
  bool signal_frame = false;
  std::uint64_t personality = 0;  // 0: none, or not said where
};

std::optional<Cie> read_cie(Cursor cursor) {
  ByteReader& reader = cursor.reader();
  const auto version = reader.read<std::uint8_t>();
  if (!version) return std::nullopt;
  std::string augmentation;
  for (;;) {
    const auto letter = reader.read<char>();
    if (!letter || augmentation.size() > 8) return std::nullopt;
    if (*letter == 0) break;
    augmentation += *letter;
  }
  if (!read_uleb(reader) || !read_sleb(reader)) return std::nullopt;  // alignment factors
  if (*version == 1 ? !reader.read<std::uint8_t>() : !read_uleb(reader)) return std::nullopt;
  Cie cie;
  if (!augmentation.starts_with('z')) {
    return augmentation.empty() ? std::optional(cie) : std::nullopt;
  }
  cie.has_augmentation = true;
  if (!read_uleb(reader)) return std::nullopt;
  for (const char letter : augmentation.substr(1)) {
    if (letter == 'S') cie.signal_frame = true;
    if (letter == 'S' || letter == 'B') continue;  // no argument
    const auto encoding = reader.read<std::uint8_t>();
    if (!encoding) return std::nullopt;
    if (letter == 'R') {
      cie.pointers = *encoding;
    } else if (letter == 'L') {
      cie.lsda = *encoding;
    } else if (letter == 'P') {
      Cursor again = cursor;
      if (!cursor.raw(*encoding)) return std::nullopt;
      if ((*encoding & kIndirect) == 0) cie.personality = again.pointer(*encoding).value_or(0);
    } else {
      return std::nullopt;
    }
  }
  return cie;
}

// Where the code of an entry begins. That of what signal handlers return to (glibc's __restore_rt),
// which is aligned, begins a byte early: unwinders look for the byte in front of a return address,
// and nothing has called it.
std::uint64_t code_begin(const Cie& cie, std::uint64_t begin, std::uint64_t size) {
  constexpr std::uint64_t kAlignment = 16;
  const bool early = cie.signal_frame && begin % kAlignment == kAlignment - 1 && size > 1;
  return begin + (early ? 1 : 0);
}

class TableReader {
 public:
  explicit TableReader(const UnwindSource& source) : source_(source), room_(source.size) {}

  UnwindTables read() {
    if (!source_.header) {
      if (source_.frames) read_frames(*source_.frames);
      return finished();
    }
    Cursor cursor = cursor_at(*source_.header);
    const auto version = cursor.reader().read<std::uint8_t>();
    const auto encoding = cursor.reader().read<std::uint8_t>();
    const bool rest = cursor.reader().take(2).has_value();  // encodings of the search table
    if (!version || *version != 1 || !encoding || !rest) return damaged();
    const auto start = cursor.pointer(*encoding);
    if (!start || source_.at(*start).empty()) return damaged();
    read_frames(*start);
    return finished();
  }

 private:
  // A function's language-specific data.
  struct Lsda {
    std::uint64_t at = 0;
    std::uint64_t function = 0;
  };

  Cursor cursor_at(std::uint64_t vaddr) const { return {source_.at(vaddr), vaddr, source_.narrow}; }

  UnwindTables finished() {
    std::vector<std::uint64_t> begins;
    begins.reserve(lsdas_.size());
    for (const Lsda& one : lsdas_) begins.push_back(one.at);
    std::ranges::sort(begins);
    for (const Lsda& one : lsdas_) {
      const auto next = std::ranges::upper_bound(begins, one.at);
      if (!add_landings(one, next == begins.end() ? ~std::uint64_t{0} : *next)) {
        out_.complete = false;
      }
    }
    return std::move(out_);
  }

  UnwindTables damaged() {
    out_.complete = false;
    return std::move(out_);
  }

  // .eh_frame is a row of entries, each with its length in front; a length of 0 ends it.
  void read_frames(std::uint64_t start) {
    ByteReader reader(source_.at(start));
    for (;;) {
      const std::uint64_t begin = start + reader.offset();
      const auto length = reader.read<std::uint32_t>();
      out_.frames = {start, start + reader.offset()};
      if (!length || *length == 0) break;
      const std::uint64_t id_at = start + reader.offset();
      const auto entry = reader.take(*length);
      if (*length == 0xffffffff || !entry) {
        out_.complete = false;
        break;
      }
      Cursor cursor(*entry, id_at, source_.narrow);
      const auto id = cursor.reader().read<std::uint32_t>();
      if (!id) continue;
      if (*id == 0) {
        const auto& cie = cies_[begin] = read_cie(cursor);
        if (cie && cie->personality != 0) out_.personalities.push_back(cie->personality);
      } else {
        add_function(cursor, id_at - *id);
      }
    }
  }

  void add_function(Cursor cursor, std::uint64_t cie_at) {
    const auto found = cies_.find(cie_at);
    if (found == cies_.end() || !found->second) {
      out_.complete = false;
      return;
    }
    const Cie& cie = *found->second;
    const auto begin = cursor.pointer(cie.pointers);
    const auto size = cursor.raw(cie.pointers & kFormatMask);
    if (!begin || !size || *begin == 0 || *size == 0 || *size > ~*begin) return;
    FunctionRange range{.begin = code_begin(cie, *begin, *size), .end = *begin + *size};
    std::uint64_t augmentation = 0;  // bytes
    if (cie.has_augmentation) {
      const auto size_of_it = read_uleb(cursor.reader());
      if (!size_of_it) return out_.functions.push_back(range);
      augmentation = *size_of_it;
    }
    Cursor rules = cursor;
    range.part =
        !cie.signal_frame && rules.reader().take(augmentation) && begins_in_frame(rules.reader());
    out_.functions.push_back(range);
    if (!cie.has_augmentation || cie.lsda == kOmitted) return;
    const auto lsda = cursor.pointer(cie.lsda, *begin);
    if (lsda && *lsda != 0) lsdas_.push_back({*lsda, *begin});
  }

  // A language-specific data area as C, C++, Rust, D and Ada have it: a header, then the call
  // sites, as far as `limit`: the parts of a function that lie apart (clang's
  // -fbasic-block-sections) have an area each, and one table of actions behind the last, to which
  // the call sites of each are said to go.
  // False: it is damaged.
  bool add_landings(const Lsda& lsda, std::uint64_t limit) {
    const std::uint64_t function = lsda.function;
    Cursor cursor = cursor_at(lsda.at);
    ByteReader& reader = cursor.reader();
    const auto base_encoding = reader.read<std::uint8_t>();
    if (!base_encoding) return false;
    std::uint64_t base = function;
    if (*base_encoding != kOmitted) base = cursor.pointer(*base_encoding).value_or(function);
    const auto type_encoding = reader.read<std::uint8_t>();
    if (!type_encoding || (*type_encoding != kOmitted && !read_uleb(reader))) return false;
    const auto site_encoding = reader.read<std::uint8_t>();
    const auto size = site_encoding ? read_uleb(reader) : std::nullopt;
    const std::uint64_t place = lsda.at + reader.offset();
    if (place > limit) return false;
    const auto table = size ? reader.take(std::min(*size, limit - place)) : std::nullopt;
    if (!table) return false;
    const bool is_cut = *size > limit - place;  // and what aligns the next may be in it
    Cursor sites(*table, 0, source_.narrow);
    std::uint64_t end = 0;  // of the call site before
    while (sites.reader().remaining() != 0) {
      const auto start = sites.raw(*site_encoding);
      const auto length = sites.raw(*site_encoding);
      const auto pad = sites.raw(*site_encoding);
      const auto action = pad ? read_uleb(sites.reader()) : std::nullopt;
      if (!start || !length || !action) return is_cut;
      // Call sites ascend. What is taken for more of them, the area of a part that has no code and
      // so no entry in the table of functions, does not.
      if (is_cut && *start < end) return true;
      end = *start + *length;
      if (!spend()) return false;
      if (*pad == 0) continue;
      out_.landings.push_back({function + *start, function + *start + *length, base + *pad});
    }
    return true;
  }

  // Any number of functions can name one table. A file that no one made up has a call site for
  // every four bytes of itself at most.
  bool spend() {
    if (room_ == 0) return false;
    --room_;
    return true;
  }

  const UnwindSource& source_;
  std::uint64_t room_;
  std::map<std::uint64_t, std::optional<Cie>> cies_;
  std::vector<Lsda> lsdas_;
  UnwindTables out_;
};

}  // namespace

UnwindTables read_unwind_tables(const UnwindSource& source) { return TableReader(source).read(); }

}  // namespace hodo::image
