#include <elf.h>

#include <algorithm>
#include <unordered_map>

#include "hodo/base/byte_reader.h"
#include "hodo/symbol/jit.h"

namespace hodo::symbol {
namespace {

constexpr std::uint32_t kMagic = 0x4a695444;  // "JiTD"
constexpr std::uint32_t kMagicSwapped = 0x4454694a;
constexpr std::uint64_t kArchTimestamp = 1;  // in flags

enum RecordId : std::uint32_t { kCodeLoad = 0, kCodeMove = 1 };

struct FileHeader {
  std::uint32_t magic, version, total_size, elf_machine, padding, pid;
  std::uint64_t timestamp, flags;
};
struct RecordHeader {
  std::uint32_t id, total_size;
  std::uint64_t timestamp;
};
struct CodeLoad {
  std::uint32_t pid, tid;
  std::uint64_t vma, code_address, code_size, code_index;
};
struct CodeMove {
  std::uint32_t pid, tid;
  std::uint64_t vma, old_address, new_address, code_size, code_index;
};

bool fits(std::uint64_t address, std::uint64_t size) { return size != 0 && size - 1 <= ~address; }

class DumpReader {
 public:
  explicit DumpReader(JitDump& dump) : dump_(dump) {}

  // False where the file goes on in no way that makes sense.
  bool record(ByteReader& in) {
    const auto header = in.read<RecordHeader>();
    if (!header || header->total_size < sizeof(RecordHeader)) return false;
    const auto body = in.take(header->total_size - sizeof(RecordHeader));
    if (!body) return false;
    if (header->id == kCodeLoad) return load(header->timestamp, ByteReader(*body));
    if (header->id == kCodeMove) return move(header->timestamp, ByteReader(*body));
    return true;
  }

 private:
  bool load(std::uint64_t time, ByteReader body) {
    const auto load = body.read<CodeLoad>();
    if (!load) return false;
    const auto rest = body.rest();
    const auto end = std::ranges::find(rest, std::uint8_t{0});
    if (end == rest.end() || !fits(load->code_address, load->code_size)) return false;
    std::string name(rest.begin(), end);
    const auto code = rest.subspan(static_cast<std::size_t>(end - rest.begin()) + 1);
    if (code.size() < load->code_size) return false;
    by_index_[load->code_index] = dump_.functions.size();
    dump_.functions.push_back({.time = time,
                               .address = load->code_address,
                               .size = load->code_size,
                               .name = std::move(name),
                               .code = code.first(static_cast<std::size_t>(load->code_size))});
    return true;
  }

  bool move(std::uint64_t time, ByteReader body) {
    const auto move = body.read<CodeMove>();
    if (!move) return false;
    const auto loaded = by_index_.find(move->code_index);
    if (loaded == by_index_.end()) return true;  // of something that was never loaded
    JitFunction function = dump_.functions[loaded->second];
    function.time = time;
    function.address = move->new_address;
    if (!fits(function.address, function.size)) return false;
    dump_.functions.push_back(std::move(function));
    return true;
  }

  JitDump& dump_;
  std::unordered_map<std::uint64_t, std::size_t> by_index_;  // code_index to place in functions
};

}  // namespace

Result<JitDump> read_jitdump(std::span<const std::uint8_t> bytes) {
  ByteReader in(bytes);
  const auto header = in.read<FileHeader>();
  if (header && header->magic == kMagicSwapped) {
    return fail(ErrorCode::unsupported, "the jitdump is of a big-endian machine");
  }
  if (!header || header->magic != kMagic) {
    return fail(ErrorCode::malformed, "the file is no jitdump: it does not begin with 'DTiJ'", 0);
  }
  if (header->version != 1) {
    return fail(ErrorCode::unsupported,
                "the jitdump has version " + std::to_string(header->version) + ", not 1");
  }
  if (header->elf_machine != EM_X86_64 && header->elf_machine != EM_386) {
    return fail(ErrorCode::unsupported, "the jitdump is of another processor than x86");
  }
  JitDump dump{.pid = header->pid, .ticks = (header->flags & kArchTimestamp) != 0};
  if (!in.seek(std::max<std::uint64_t>(header->total_size, sizeof(FileHeader)))) {
    dump.cut_off = true;
    return dump;
  }
  DumpReader reader(dump);
  while (in.remaining() != 0 && dump.functions.size() < kMostJitFunctions) {
    if (reader.record(in)) continue;
    dump.cut_off = true;
    break;
  }
  return dump;
}

}  // namespace hodo::symbol
