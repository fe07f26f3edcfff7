// Any bytes as code, in each mode and at every offset: what the table of common instructions says
// is what Zydis says, of operands too, and cutting an instruction off makes it none.
#include <cstdint>
#include <cstdlib>
#include <span>

#include "common_insns.h"
#include "operand_fields.h"

namespace {

using namespace hodo::isa;

void require(bool condition) {
  if (!condition) std::abort();
}

void compare(std::span<const std::uint8_t> bytes, Mode mode) {
  constexpr std::uint64_t kIp = 0x7fffffff0;
  const auto insn = decode_common(bytes, kIp, mode);
  if (!insn) return;
  const auto reference = decode_by_zydis(bytes, kIp, mode);
  require(reference.has_value());
  require(insn->length == reference->length);
  require(insn->cls == reference->cls);
  require(insn->target == reference->target);
  require(!decode_common(bytes.first(insn->length - 1u), kIp, mode));
  require(same(*decode_operands(bytes, kIp, mode), *decode_operands_by_zydis(bytes, kIp, mode)));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  for (std::size_t at = 0; at < size; ++at) {
    for (const Mode mode : {Mode::bits16, Mode::bits32, Mode::bits64}) {
      compare(std::span(data, size).subspan(at), mode);
    }
  }
  return 0;
}
