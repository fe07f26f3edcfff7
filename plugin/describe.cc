#include "describe.h"

#include "api_version.h"

namespace hodo::plugin {

using unit::Block;

namespace {

bool repeats(std::span<const std::uint8_t> insn) {
  bool prefix = false;
  for (const std::uint8_t byte : insn) {
    if (byte == 0xf2 || byte == 0xf3) {
      prefix = true;
    } else if ((byte & 0xf0) != 0x40 && byte != 0x66 && byte != 0x67 && (byte & 0xe7) != 0x26 &&
               (byte & 0xfe) != 0x64) {
      const std::uint8_t op = byte & 0xfe;
      return prefix &&
             (op == 0x6c || op == 0x6e || op == 0xa4 || op == 0xa6 || (op >= 0xaa && op <= 0xae));
    }
  }
  return false;
}

}  // namespace

std::vector<const qemu_plugin_insn*> insns_of(const qemu_plugin_tb* tb, isa::Mode mode) {
  const std::size_t count = qemu_plugin_tb_n_insns(tb);
  std::vector<const qemu_plugin_insn*> insns;
  insns.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    insns.push_back(qemu_plugin_tb_get_insn(tb, i));
  }
  if (insns.size() <= 1) return insns;
  std::vector<std::uint8_t> last;
  append_bytes(insns.back(), last);
  if (!isa::decode(last, qemu_plugin_insn_vaddr(insns.back()), mode)) insns.pop_back();
  return insns;
}

std::vector<std::uint8_t> code_of(std::span<const qemu_plugin_insn* const> insns) {
  std::vector<std::uint8_t> code;
  for (const auto* insn : insns) append_bytes(insn, code);
  return code;
}

Block describe(std::uint64_t start, std::span<const std::uint8_t> code, std::size_t insns,
               std::size_t last_size, isa::Mode mode) {
  Block b;
  b.start = start;
  b.size = static_cast<std::uint16_t>(code.size());
  b.insns = static_cast<std::uint16_t>(insns);
  b.last = static_cast<std::uint8_t>(last_size);
  const auto last = code.last(last_size);
  const auto insn = isa::decode(last, b.source(), mode);
  b.cls = insn ? insn->cls : isa::InsnClass::other;
  if (mode == isa::Mode::bits32) b.flags |= Block::kNarrow;
  switch (b.cls) {
    case isa::InsnClass::cond:
      b.taken = insn->target, b.other = b.end(), b.tnt = 1;
      break;
    case isa::InsnClass::jmp:
    case isa::InsnClass::call:
      b.taken = b.other = insn->target;
      break;
    case isa::InsnClass::icall:
    case isa::InsnClass::mov_cr3:
      break;
    default:
      if (isa::is_branch(b.cls)) break;
      b.taken = repeats(last) ? b.source() : b.end();
      b.other = b.end();
      b.cls = isa::InsnClass::other;
  }
  // SDM, "RET Compression": a call to the next instruction is no call that will be returned from.
  if (b.cls == isa::InsnClass::icall || (b.cls == isa::InsnClass::call && b.taken != b.end())) {
    b.flags |= Block::kPushes;
  }
  return b;
}

}  // namespace hodo::plugin
