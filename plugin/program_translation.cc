#include "program_translation.h"

#include <sys/mman.h>

#include <algorithm>
#include <mutex>
#include <span>
#include <vector>

#include "describe.h"
#include "hodo/isa/insn.h"
#include "program_recorder.h"
#include "program_threads.h"
#include "signals.h"

namespace hodo::plugin {
namespace {

using relay::RecordType;
using unit::Block;

struct Piece {  // instructions of one translated block that the filters treat alike
  std::size_t first = 0;
  std::size_t count = 0;
  std::size_t size = 0;  // bytes
  bool excluded = false;
};

isa::Mode mode() { return recorder->guest.wide() ? isa::Mode::bits64 : isa::Mode::bits32; }

void send_kept(std::uint64_t start, std::span<const std::uint8_t> code) {
  const relay::CodeRecord record{start};
  current_thread->send_code(RecordType::code, bytes_of(record), code);
  current_thread->code_seen = recorder->code_sent.fetch_add(1, std::memory_order_release) + 1;
}

// Memory without a file is told of where code is in it, each part once.
void report_area(std::uint64_t address, const Mapping& mapping) {
  const auto area = recorder->areas.tell(address, {mapping.where.start, mapping.end()});
  if (!area) return;
  relay::MapRecord where;
  where.start = area->range.start;
  where.length = area->range.end - area->range.start;
  where.prot = recorder->guest.protection(address);
  send_mapping(where, area->name);
}

// Reports the mapping, or keeps the code itself if it is in no file. True: these bytes are kept.
bool report_code(std::uint64_t start, std::span<const std::uint8_t> code) {
  if (current_thread == nullptr) return false;
  Mapping* mapping = report_mapping(start);
  const bool in_file =
      mapping != nullptr && mapping->file != nullptr &&
      mapping->file->same(start - mapping->where.start + mapping->where.offset, code);
  if (in_file && !recorder->known_code.overlaps(start, code.size())) return false;
  if (recorder->known_code.learn(start, code) != KnownCode::News::none) send_kept(start, code);
  return true;
}

std::vector<Piece> split(std::span<const qemu_plugin_insn* const> insns) {
  std::vector<Piece> pieces;
  for (std::size_t i = 0; i < insns.size(); ++i) {
    const bool out = recorder->filters.excluded(qemu_plugin_insn_vaddr(insns[i]));
    if (pieces.empty() || pieces.back().excluded != out) pieces.push_back({i, 0, 0, out});
    ++pieces.back().count;
    pieces.back().size += qemu_plugin_insn_size(insns[i]);
  }
  return pieces;
}

}  // namespace

void send_mapping(const relay::MapRecord& where, std::string_view path) {
  current_thread->send_code(RecordType::map, bytes_of(where), text_of(path));
  for (const KnownCode::Piece& piece : recorder->known_code.pieces(where.start, where.length)) {
    send_kept(piece.address, piece.bytes);
  }
}

Mapping* report_mapping(std::uint64_t address) {
  Mapping* mapping = recorder->mappings.find(address);
  if (mapping == nullptr || mapping->reported) return mapping;
  // A name in brackets is of the emulator's own memory: [heap], [stack].
  if (mapping->path.empty() || mapping->path.starts_with('[')) report_area(address, *mapping);
  if (mapping->file == nullptr) return mapping;
  mapping->reported = true;
  relay::MapRecord where = mapping->where;
  where.prot = recorder->guest.protection(address);
  mapping->was_writable = (where.prot & PROT_WRITE) != 0;
  recorder->areas.forget({where.start, mapping->end()});
  send_mapping(where, mapping->path);
  recorder->filters.add_mapping(*mapping);
  return mapping;
}

void translate(qemu_plugin_id_t, qemu_plugin_tb* tb) {
  recorder->guest.look_at(*qemu_plugin_tb_get_insn(tb, 0));
  if (current_unit == nullptr) first_event();
  const std::uint64_t start = qemu_plugin_tb_vaddr(tb);
  const auto insns = insns_of(tb, mode());
  const std::vector<std::uint8_t> code = code_of(insns);
  const std::lock_guard lock(recorder->mutex);
  const bool kept = report_code(start, code);
  const bool count = current_thread != nullptr && current_thread->tracer().counts_cycles();
  const UnitCallbacks& call = recorder->callbacks;
  const qemu_plugin_cb_flags flags = recorder->guest.registers().callback_flags();
  std::size_t offset = 0;
  for (const Piece& piece : split(insns)) {
    const auto* last = insns[piece.first + piece.count - 1];
    Block found = describe(start + offset, std::span(code).subspan(offset, piece.size), piece.count,
                           qemu_plugin_insn_size(last), mode());
    if (is_signal_handler(found.start)) found.flags |= Block::kHandler;
    const Block* block = recorder->blocks.intern(found);
    const bool stepped = block->insns == 1 && block->cls == isa::InsnClass::other;
    const UnitCallbacks::ByCode& enter = stepped ? call.enter_stepped
                                         : count ? call.enter_counting
                                                 : call.enter;
    const auto callback = piece.excluded ? call.leave_filter : kept ? enter.kept : enter.in_file;
    auto* data = const_cast<Block*>(block);
    if (offset == 0) {
      qemu_plugin_register_vcpu_tb_exec_cb(tb, callback, flags, data);
    } else {
      qemu_plugin_register_vcpu_insn_exec_cb(qemu_plugin_tb_get_insn(tb, piece.first), callback,
                                             flags, data);
    }
    offset += piece.size;
  }
}

void on_flush(qemu_plugin_id_t) {
  const std::lock_guard lock(recorder->mutex);
  recorder->blocks.collect([](const Block* first, const Block* last) {
    return std::any_of(recorder->threads.begin(), recorder->threads.end(), [&](Thread* thread) {
      const Block* in_use = thread->tracer().current();
      return in_use != nullptr && in_use >= first && in_use < last;
    });
  });
}

}  // namespace hodo::plugin
