#include "encoding_flags.h"

#include "encoding_shapes.h"

namespace hodo::isa {
namespace {

// The flags that condition `code` (the low half of Jcc's opcode) reads.
constexpr std::uint8_t condition_flags(unsigned code) {
  constexpr std::uint8_t kRead[] = {kOf, kCf, kZf, kCf | kZf, kSf, kPf, kSf | kOf, kSf | kZf | kOf};
  return kRead[code >> 1 & 7];
}

FlagUse arithmetic_flags(unsigned which) {  // ADD OR ADC SBB AND SUB XOR CMP
  return {static_cast<std::uint8_t>(which == 2 || which == 3 ? kCf : 0), kAllFlags};
}

// ROL ROR RCL RCR SHL SHR SAL SAR. A count of zero changes nothing, so only a count that is known
// kills.
FlagUse shift_flags(unsigned which, bool counted) {
  const std::uint8_t read = which == 2 || which == 3 ? kCf : 0;
  if (!counted) return {read, 0};
  return {read, static_cast<std::uint8_t>(which < 4 ? kCf : kCf | kPf | kZf | kSf)};
}

FlagUse one_byte_flags(const Encoding& e, const std::uint8_t* bytes) {
  const unsigned op = e.opcode;
  const unsigned which = e.modrm >> 3 & 7;
  if (op < 0x40) return arithmetic_flags(op >> 3);
  if (in(op, 0x70, 0x7f)) return {condition_flags(op), 0};
  if (in(op, 0x80, 0x83)) return arithmetic_flags(which);
  switch (op) {
    case 0x69:
    case 0x6b:
    case 0x84:
    case 0x85:
    case 0xa8:
    case 0xa9:
      return {0, kAllFlags};
    case 0x9c:
      return {kAllFlags, 0};
    case 0x9d:
      return {0, kAllFlags};
    case 0x9e:
      return {0, kAllFlags & ~kOf};
    case 0x9f:
      return {kAllFlags & ~kOf, 0};
    case 0xa6:
    case 0xa7:
    case 0xae:
    case 0xaf:
      if (e.rep != 0) return {kZf, 0};  // a count of 0 leaves them
      return {0, kAllFlags};
    case 0xc0:
    case 0xc1:
      return shift_flags(which, (bytes[e.imm_at] & 0x1f) != 0);
    case 0xd0:
    case 0xd1:
      return shift_flags(which, true);
    case 0xd2:
    case 0xd3:
      return shift_flags(which, false);
    case 0xda:
    case 0xdb:
    case 0xdf:
      if (e.modrm < 0xc0) return {};
      return {static_cast<std::uint8_t>(op != 0xdf && which < 4 ? kCf | kPf | kZf : 0), 0};
    case 0xe0:
    case 0xe1:
      return {kZf, 0};
    case 0xf5:
      return {kCf, kCf};
    case 0xf8:
    case 0xf9:
      return {0, kCf};
    case 0xf6:
    case 0xf7:
      return {0, static_cast<std::uint8_t>(which == 2 || which > 5 ? 0 : kAllFlags)};
    case 0xfe:
    case 0xff:
      return {0, static_cast<std::uint8_t>(which < 2 ? kAllFlags & ~kCf : 0)};
    // Interrupts, far returns, IRET: what runs next sees the flags.
    case 0xcc:
    case 0xcd:
    case 0xf1:
    case 0xcf:
    case 0xca:
    case 0xcb:
      return {kAllFlags, 0};
    default:
      return {};
  }
}

FlagUse map_0f_flags(const Encoding& e) {
  const unsigned op = e.opcode;
  if (in(op, 0x40, 0x4f) || in(op, 0x80, 0x9f)) return {condition_flags(op), 0};
  switch (op) {
    case 0x05:
    case 0x34:
    case 0x07:
    case 0x35:
      return {kAllFlags, 0};
    case 0x2e:
    case 0x2f:
    case 0xaf:
    case 0xb0:
    case 0xb1:
    case 0xc0:
    case 0xc1:
      return {0, kAllFlags};
    case 0xb8:
      return {0, static_cast<std::uint8_t>(e.rep == 0xf3 ? kAllFlags : 0)};
    case 0xa3:
    case 0xab:
    case 0xb3:
    case 0xba:
    case 0xbb:
      return {0, kCf};
    default:
      return {};
  }
}

FlagUse map_0f38_flags(const Encoding& e) {
  if (e.opcode == 0x17) return {0, kAllFlags};  // PTEST
  if (e.opcode == 0xf6) return {kCf | kOf, 0};  // ADCX, ADOX
  return {};
}

FlagUse vector_flags(const Encoding& e) {
  const unsigned op = e.opcode;
  if (e.map == 1 && (op == 0x2e || op == 0x2f)) return {0, kAllFlags};
  if (e.map == 5 && (op == 0x2e || op == 0x2f)) return {0, kAllFlags};
  if (e.form == Form::evex) return {};
  if (e.map == 2 && (op == 0x17 || op == 0x0e || op == 0x0f)) return {0, kCf | kZf};
  return {};
}

}  // namespace

FlagUse flag_use(const Encoding& e, const std::uint8_t* bytes) {
  if (e.form != Form::legacy) return vector_flags(e);
  switch (e.map) {
    case 0:
      return one_byte_flags(e, bytes);
    case 1:
      return map_0f_flags(e);
    case 2:
      return map_0f38_flags(e);
    default:
      return {};
  }
}

}  // namespace hodo::isa
