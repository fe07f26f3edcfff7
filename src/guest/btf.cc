#include "hodo/guest/btf.h"

#include <cstring>

#include "hodo/base/byte_reader.h"

namespace hodo::guest {
namespace {

// include/uapi/linux/btf.h
constexpr std::uint16_t kMagic = 0xeb9f;
constexpr std::uint8_t kVersion = 1;

struct Header {
  std::uint16_t magic;
  std::uint8_t version;
  std::uint8_t flags;
  std::uint32_t header_size;
  std::uint32_t types_offset, types_size;
  std::uint32_t strings_offset, strings_size;
};

struct Type {
  std::uint32_t name;
  std::uint32_t info;
  std::uint32_t size_or_type;

  std::uint32_t members() const { return info & 0xffff; }
  std::uint32_t kind() const { return info >> 24 & 0x1f; }
  bool has_bit_sizes() const { return info >> 31 != 0; }
};

struct Member {
  std::uint32_t name;
  std::uint32_t type;
  std::uint32_t offset;  // bits; with has_bit_sizes() the upper 8 bits are the field's size
};

constexpr std::uint32_t kStruct = 4, kUnion = 5;

// Bytes behind a type of this kind, fixed and for each of its members.
struct Tail {
  std::uint32_t fixed, each;
};
constexpr Tail kTails[] = {
    {0, 0}, {4, 0}, {0, 0}, {12, 0}, {0, 12}, {0, 12}, {0, 8}, {0, 0}, {0, 0}, {0, 0},
    {0, 0}, {0, 0}, {0, 0}, {0, 8},  {4, 0},  {0, 12}, {0, 0}, {4, 0}, {0, 0}, {0, 12},
};

template <class T>
T read_at(std::span<const std::uint8_t> bytes, std::size_t offset) {
  T value{};
  std::memcpy(&value, bytes.data() + offset, sizeof(value));
  return value;
}

}  // namespace

Result<Btf> Btf::parse(std::span<const std::uint8_t> bytes) {
  ByteReader reader(bytes);
  const auto header = reader.read<Header>();
  if (!header) return fail(ErrorCode::truncated, "BTF ends inside its header", 0);
  if (header->magic != kMagic || header->version != kVersion) {
    return fail(ErrorCode::unsupported, "BTF of another byte order or version", 0);
  }
  const auto section = [&](std::uint64_t offset, std::uint64_t size) {
    ByteReader from(bytes);
    const bool found = from.seek(header->header_size + offset);
    return found ? from.take(size) : std::nullopt;
  };
  const auto types = section(header->types_offset, header->types_size);
  const auto strings = section(header->strings_offset, header->strings_size);
  if (!types || !strings) return fail(ErrorCode::truncated, "BTF ends inside a section", 0);
  Btf out;
  out.types_ = *types;
  out.strings_ = *strings;
  for (ByteReader in(*types); in.remaining() != 0;) {
    const std::size_t start = in.offset();
    const auto type = in.read<Type>();
    if (!type || type->kind() >= std::size(kTails)) {
      return fail(ErrorCode::malformed, "BTF with a type of unknown kind", start);
    }
    const Tail tail = kTails[type->kind()];
    if (!in.take(tail.fixed + std::uint64_t{tail.each} * type->members())) {
      return fail(ErrorCode::truncated, "BTF ends inside a type", start);
    }
    out.offsets_.push_back(static_cast<std::uint32_t>(start));
  }
  return out;
}

std::string_view Btf::name(std::uint32_t offset) const {
  if (offset >= strings_.size()) return {};
  const auto* text = reinterpret_cast<const char*>(strings_.data()) + offset;
  return {text, strnlen(text, strings_.size() - offset)};
}

bool Btf::is_composite(std::uint32_t type) const {
  if (type == 0 || type > offsets_.size()) return false;
  const auto kind = read_at<Type>(types_, offsets_[type - 1]).kind();
  return kind == kStruct || kind == kUnion;
}

std::optional<std::uint32_t> Btf::size_of(std::string_view structure) const {
  for (const std::uint32_t offset : offsets_) {
    const auto type = read_at<Type>(types_, offset);
    if (type.kind() == kStruct && name(type.name) == structure) return type.size_or_type;
  }
  return std::nullopt;
}

std::optional<std::uint32_t> Btf::offset_of(std::string_view structure,
                                            std::string_view member) const {
  struct Part {
    std::uint32_t at;     // in types_
    std::uint32_t start;  // bits into the structure
  };
  // Unnamed parts of a structure are structures inside of it; more of them than this is no
  // kernel's.
  constexpr std::size_t kMostParts = 256;
  for (const std::uint32_t offset : offsets_) {
    const auto type = read_at<Type>(types_, offset);
    if (type.kind() != kStruct || name(type.name) != structure) continue;
    std::vector<Part> parts = {{offset, 0}};
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const Part part = parts[i];
      const auto here = read_at<Type>(types_, part.at);
      for (std::uint32_t m = 0; m < here.members(); ++m) {
        const auto field = read_at<Member>(types_, part.at + sizeof(Type) + m * sizeof(Member));
        const bool bits = here.has_bit_sizes();
        const std::uint32_t start = part.start + (bits ? field.offset & 0xffffff : field.offset);
        const bool bit_field = bits && field.offset >> 24 != 0;
        if (!bit_field && start % 8 == 0 && name(field.name) == member) return start / 8;
        if (name(field.name).empty() && is_composite(field.type) && parts.size() < kMostParts) {
          parts.push_back({offsets_[field.type - 1], start});
        }
      }
    }
  }
  return std::nullopt;
}

}  // namespace hodo::guest
