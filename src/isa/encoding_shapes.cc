#include "encoding_shapes.h"

#include <cstddef>

namespace hodo::isa {
namespace {

struct Row {
  std::uint8_t first, last;  // opcodes
  std::uint16_t shape;       // without kValid: no instruction in 64-bit mode
};
struct Shapes {
  std::uint16_t of[256] = {};
};

// Later rows win.
template <std::size_t N>
constexpr Shapes expand(std::uint16_t others, const Row (&rows)[N]) {
  Shapes shapes;
  for (std::uint16_t& shape : shapes.of) shape = others;
  for (const Row& row : rows) {
    for (unsigned opcode = row.first; opcode <= row.last; ++opcode) shapes.of[opcode] = row.shape;
  }
  return shapes;
}

constexpr std::uint16_t kM = kValid | kModrm;
constexpr std::uint16_t kMI = kM | kImm8;

// SDM vol. 2, table A-2. ADD to CMP have eight opcodes each, alike. Prefixes and escapes are not
// asked for.
constexpr Row kOneByteRows[] = {
    {0x00, 0x3f, kM | kGprs},
    {0x50, 0x5f, kValid | kGprOpcode},
    {0x60, 0x61, 0},
    {0x63, 0x63, kM | kGprs},
    {0x68, 0x68, kValid | kImmZ},
    {0x69, 0x69, kM | kGprs | kImmZ},
    {0x6a, 0x6a, kValid | kImm8},
    {0x6b, 0x6b, kMI | kGprs},
    {0x70, 0x7f, kValid | kImm8},
    {0x80, 0x80, kMI | kGprRm},
    {0x81, 0x81, kM | kGprRm | kImmZ},
    {0x82, 0x82, 0},
    {0x83, 0x83, kMI | kGprRm},
    {0x84, 0x8b, kM | kGprs},
    {0x8c, 0x8c, kM | kGprRm},
    {0x8d, 0x8d, kM | kGprs},
    {0x8e, 0x8f, kM | kGprRm},
    {0x90, 0x97, kValid | kGprOpcode},
    {0x9a, 0x9a, 0},
    {0xa0, 0xa3, kValid | kOffset},
    {0xa8, 0xa8, kValid | kImm8},
    {0xa9, 0xa9, kValid | kImmZ},
    {0xb0, 0xb7, kValid | kGprOpcode | kImm8},
    {0xb8, 0xbf, kValid | kGprOpcode | kImmV},
    {0xc0, 0xc1, kMI | kGprRm},
    {0xc2, 0xc2, kValid | kImm16},
    {0xc6, 0xc6, kMI | kGprRm},
    {0xc7, 0xc7, kM | kGprRm | kImmZ},
    {0xc8, 0xc8, kValid | kImm16 | kImm8},
    {0xca, 0xca, kValid | kImm16},
    {0xcd, 0xcd, kValid | kImm8},
    {0xce, 0xce, 0},
    {0xd0, 0xd3, kM | kGprRm},
    {0xd4, 0xd6, 0},
    {0xd8, 0xdf, kM},
    {0xe0, 0xe7, kValid | kImm8},
    {0xe8, 0xe9, kValid | kRel32},
    {0xea, 0xea, 0},
    {0xeb, 0xeb, kValid | kImm8},
    {0xf6, 0xf7, kM | kGprRm},
    {0xfe, 0xff, kM | kGprRm},
};

// SDM vol. 2, table A-3.
constexpr Row kMap0fRows[] = {
    {0x00, 0x01, kM | kGprRm},
    {0x02, 0x03, kM | kGprs},
    {0x04, 0x04, 0},
    {0x05, 0x09, kValid},
    {0x0a, 0x0a, 0},
    {0x0b, 0x0b, kValid},
    {0x0c, 0x0c, 0},
    {0x0d, 0x0d, kM | kGprRm},
    {0x0e, 0x0e, kValid},
    {0x0f, 0x0f, kMI},
    {0x18, 0x1f, kM | kGprRm},
    {0x20, 0x23, kM | kGprRm},
    {0x24, 0x27, 0},
    {0x2a, 0x2a, kM | kGprRm},
    {0x2c, 0x2d, kM | kGprReg},
    {0x30, 0x35, kValid},
    {0x36, 0x36, 0},
    {0x37, 0x37, kValid},
    {0x39, 0x39, 0},
    {0x3b, 0x3f, 0},
    {0x40, 0x4f, kM | kGprs},
    {0x50, 0x50, kM | kGprReg},
    {0x6e, 0x6e, kM | kGprRm},
    {0x70, 0x73, kMI},
    {0x77, 0x77, kValid},
    {0x78, 0x79, kM | kGprs},
    {0x7a, 0x7b, 0},
    {0x7e, 0x7e, kM | kGprRm},
    {0x80, 0x8f, kValid | kRel32},
    {0x90, 0x9f, kM | kGprRm},
    {0xa0, 0xa2, kValid},
    {0xa3, 0xa3, kM | kGprs},
    {0xa4, 0xa4, kMI | kGprs},
    {0xa5, 0xa5, kM | kGprs},
    {0xa6, 0xa7, 0},
    {0xa8, 0xaa, kValid},
    {0xab, 0xab, kM | kGprs},
    {0xac, 0xac, kMI | kGprs},
    {0xad, 0xad, kM | kGprs},
    {0xae, 0xae, kM | kGprRm},
    {0xaf, 0xb1, kM | kGprs},
    {0xb2, 0xb2, kM | kGprReg},
    {0xb3, 0xb3, kM | kGprs},
    {0xb4, 0xb5, kM | kGprReg},
    {0xb6, 0xb9, kM | kGprs},
    {0xba, 0xba, kMI | kGprRm},
    {0xbb, 0xc1, kM | kGprs},
    {0xc2, 0xc2, kMI},
    {0xc3, 0xc3, kM | kGprReg},
    {0xc4, 0xc4, kMI | kGprRm},
    {0xc5, 0xc5, kMI | kGprReg},
    {0xc6, 0xc6, kMI},
    {0xc7, 0xc7, kM | kGprRm},
    {0xc8, 0xcf, kValid | kGprOpcode},
    {0xd7, 0xd7, kM | kGprReg},
    {0xff, 0xff, kM | kGprs},
};

constexpr Row kMap0f38Rows[] = {
    {0x80, 0x82, kM | kGprReg}, {0xf0, 0xf1, kM | kGprs},   {0xf5, 0xf5, kM | kGprReg},
    {0xf6, 0xf6, kM | kGprs},   {0xf8, 0xf9, kM | kGprReg}, {0xfa, 0xfb, kM | kGprs},
    {0xfc, 0xfc, kM | kGprReg},
};

constexpr Row kMap0f3aRows[] = {
    {0x14, 0x17, kMI | kGprRm},
    {0x20, 0x20, kMI | kGprRm},
    {0x22, 0x22, kMI | kGprRm},
};

constexpr Shapes one_byte() {
  Shapes shapes = expand(kValid, kOneByteRows);
  for (unsigned op = 0; op < 0x40; op += 8) {
    shapes.of[op + 4] = kValid | kImm8;
    shapes.of[op + 5] = kValid | kImmZ;
    shapes.of[op + 6] = shapes.of[op + 7] = 0;
  }
  return shapes;
}

// By opcode map.
constexpr Shapes kShapes[] = {one_byte(), expand(kM, kMap0fRows), expand(kM, kMap0f38Rows),
                              expand(kMI, kMap0f3aRows)};

}  // namespace

std::uint16_t legacy_shape(unsigned map, std::uint8_t opcode) { return kShapes[map].of[opcode]; }

std::uint16_t vector_shape(Form form, unsigned map, unsigned op) {
  const bool evex = form == Form::evex;
  if (map == 1) {
    if (op == 0x77 && !evex) return kValid;
    // Branches and mask instructions that only Xeon Phi had.
    if (!evex && (in(op, 0x80, 0x8f) || in(op, 0x94, 0x97) || in(op, 0xb8, 0xbd))) return 0;
    if (in(op, 0x70, 0x73) || op == 0xc2 || op == 0xc6) return kValid | kModrm | kImm8;
    if (op == 0xc4) return kValid | kModrm | kGprRm | kImm8;
    if (op == 0xc5) return kValid | kModrm | kGprReg | kImm8;
    if (op == 0x2a || op == 0x6e || op == 0x7e) return kValid | kModrm | kGprRm;
    if (op == 0x2c || op == 0x2d) return kValid | kModrm | kGprReg;
    if (!evex && (op == 0x50 || op == 0xd7 || op == 0x93)) return kValid | kModrm | kGprReg;
    if (!evex && op == 0x92) return kValid | kModrm | kGprRm;
    if (evex && (op == 0x78 || op == 0x79)) return kValid | kModrm | kGprReg;
    if (evex && op == 0x7b) return kValid | kModrm | kGprRm;
    return kValid | kModrm;
  }
  if (map == 2) {
    if (!evex && (op == 0xf2 || in(op, 0xf5, 0xf7))) return kValid | kModrm | kGprs | kGprVvvv;
    if (!evex && op == 0xf3) return kValid | kModrm | kGprRm | kGprVvvv;
    if (!evex && in(op, 0xe0, 0xef)) return kValid | kModrm | kGprReg | kGprVvvv;  // CMPccXADD
    if (evex && in(op, 0x7a, 0x7c)) return kValid | kModrm | kGprRm;
    return kValid | kModrm;
  }
  if (map == 3) {
    if (in(op, 0x14, 0x17) || op == 0x20 || op == 0x22) return kValid | kModrm | kGprRm | kImm8;
    if (!evex && op == 0xf0) return kValid | kModrm | kGprs | kImm8;
    return kValid | kModrm | kImm8;
  }
  if (evex && map == 5) {
    if (op == 0x2a || op == 0x7b || op == 0x6e || op == 0x7e) return kValid | kModrm | kGprRm;
    if (op == 0x2c || op == 0x2d || op == 0x78 || op == 0x79) return kValid | kModrm | kGprReg;
    return kValid | kModrm;
  }
  if (evex && map == 6) return kValid | kModrm;
  return 0;
}

}  // namespace hodo::isa
