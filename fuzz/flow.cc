// Any bytes as a trace of a fixed piece of code: the decoder ends, counts every byte, and walks the
// same instructions as libipt up to the first error of either.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "hodo/flow/decoder.h"
#include "hodo/isa/insn.h"
#include "hodo/pt/reader.h"
#include "libipt_reference.h"
#include "ways.h"

namespace {

using namespace hodo;
using Bytes = std::span<const std::uint8_t>;

constexpr std::uint64_t kBase = 0x1000;

// Every kind of instruction that the decoder tells apart, with short branches among them.
constexpr std::uint8_t kCode[] = {
    0x90,                          // 1000 nop
    0x74, 0xfd,                    // 1001 jz 1000
    0xe8, 0x18, 0x00, 0x00, 0x00,  // 1003 call 1020
    0x74, 0xf6,                    // 1008 jz 1000
    0xe8, 0x00, 0x00, 0x00, 0x00,  // 100a call 100f
    0xff, 0xd0,                    // 100f call rax
    0xeb, 0x2d,                    // 1011 jmp 1040
    0x90, 0x90, 0x90, 0x90, 0x90,  // 1013
    0x90, 0x90, 0x90, 0x90, 0x90,  //
    0x90, 0x90, 0x90,              //
    0x90,                          // 1020 nop
    0x74, 0x05,                    // 1021 jz 1028
    0xe8, 0x08, 0x00, 0x00, 0x00,  // 1023 call 1030
    0xc3,                          // 1028 ret
    0xff, 0xe0,                    // 1029 jmp rax
    0xeb, 0xfe,                    // 102b jmp 102b
    0x90, 0x90, 0x90,              // 102d
    0x0f, 0x05,                    // 1030 syscall
    0x75, 0xee,                    // 1032 jnz 1022, into the middle of an instruction
    0xcc,                          // 1034 int3
    0xc3,                          // 1035 ret
    0x0f, 0x22, 0xd8,              // 1036 mov cr3, rax
    0xf3, 0x0f, 0xae, 0xe0,        // 1039 ptwrite eax
    0xeb, 0xc1,                    // 103d jmp 1000
    0x90,                          // 103f
    0xc7, 0xf8, 0x00, 0x00, 0x00,  // 1040 xbegin 1046
    0x00,                          //
    0xcf,                          // 1046 iret
    0xcb,                          // 1047 retf
    0x0f, 0x01, 0xc2,              // 1048 vmlaunch
    0x0f, 0x01, 0xc1,              // 104b vmcall
    0xeb, 0xb0,                    // 104e jmp 1000
    0x74, 0x0e,                    // 1050 jz 1060, where nothing is mapped
    0xeb, 0xf0,                    // 1052 jmp 1044
    0xff,                          // 1054 cut off
};

class FixedCode : public image::CodeSource {
 public:
  image::CodeSpan find(std::uint64_t address, std::uint64_t) const override {
    if (address - kBase >= sizeof kCode) return {};
    return {.content = 1, .address = kBase, .bytes = kCode};
  }
};

// What the decoder says, up to the first loss.
struct Sink : flow::BranchSink {
  std::vector<std::uint64_t> ips;
  std::uint64_t time = 0;
  bool lost = false;

  void on_branches(std::span<const Branch> batch) override {
    for (const Branch& branch : batch) {
      if (branch.time < time) fail("time goes back");
      time = branch.time;
    }
  }
  void on_loss(const flow::Loss&) override { lost = true; }
  void on_instructions(std::span<const std::uint64_t> batch) override {
    if (!lost) ips.insert(ips.end(), batch.begin(), batch.end());
  }
  [[noreturn]] static void fail(const char* what) {
    std::fprintf(stderr, "%s\n", what);
    std::abort();
  }
};

// PSB+ with 64-bit mode and the first instruction, so that the fuzzer need not find that first.
std::vector<std::uint8_t> behind_psb_plus(Bytes input) {
  std::vector<std::uint8_t> trace;
  for (int i = 0; i < 8; ++i) trace.insert(trace.end(), {0x02, 0x82});
  trace.insert(trace.end(), {0x99, 0x01, 0x3d, 0x00, 0x10, 0x02, 0x23});
  trace.insert(trace.end(), input.begin(), input.end());
  return trace;
}

// Where the two decoders differ by design. libipt 2.0.5 ...
struct KnownDifferences {
  bool return_stack =
      false;                // ... keeps returns with a TIP and those from before a PSB or OVF on it
  bool bound_mode = false;  // ... takes a FUP behind MODE.Exec for an interrupt (event tracing)
  bool fup_lost = false;    // ... forgets a FUP whose TIP an overflow swallowed
  bool mode_16 = false;     // ... and Zydis differ about 16-bit code
  bool waiting = false;     // ... lets the path go on while an event waits for its instruction,
                            // at the end and past a FUP; we leave such an event without a place
};

KnownDifferences known_differences(Bytes trace) {
  KnownDifferences out;
  pt::PacketReader reader(trace);
  pt::Packet packet;
  bool mode_pending = false;
  bool fup_pending = false;
  bool in_psb_plus = true;
  while (reader.read(packet) == pt::ReadStatus::packet) {
    using enum pt::PacketType;
    if (packet.type == psb) in_psb_plus = true;
    if (packet.type == psbend) in_psb_plus = false;
    if (packet.type == tip || packet.type == psb || packet.type == ovf) out.return_stack = true;
    if (packet.type == tip || packet.type == tip_pge || packet.type == tip_pgd)
      mode_pending = false;
    if (packet.type == mode_exec) {
      mode_pending = !in_psb_plus;
      if ((packet.payload & (pt::kExecCsL | pt::kExecCsD)) == 0) out.mode_16 = true;
    }
    if (packet.type == ovf && fup_pending) out.fup_lost = true;
    if (packet.type == tip || packet.type == tip_pgd) fup_pending = false;
    if (packet.type == fup) fup_pending = !in_psb_plus;
    if (packet.type == fup && mode_pending) out.bound_mode = true;
    if (packet.type >= pip && packet.type <= vmcs && !in_psb_plus) out.waiting = true;
    if (packet.type > mnt) out.waiting = true;
  }
  return out;
}

bool is_return(std::uint64_t ip) { return ip - kBase < sizeof kCode && kCode[ip - kBase] == 0xc3; }

void compare(Bytes trace, const Sink& ours, const flow::ReferencePath& theirs) {
  const KnownDifferences known = known_differences(trace);
  if (known.bound_mode || known.fup_lost || known.mode_16) return;
  if (known.waiting && !theirs.errors.empty()) return;
  const auto [mine, other] = std::ranges::mismatch(ours.ips, theirs.ips);
  const auto same = static_cast<std::size_t>(mine - ours.ips.begin());
  if (mine == ours.ips.end() || other == theirs.ips.end()) {
    // (Behind a FUP without TIP, at the end, we go to its IP; libipt does not.)
    const bool whole = !ours.lost && theirs.errors.empty() && !theirs.gave_up && !known.waiting;
    if (whole && ours.ips.size() < theirs.ips.size()) Sink::fail("stopped short of libipt");
    return;
  }
  if (known.return_stack && same > 0 && is_return(ours.ips[same - 1])) return;
  std::fprintf(stderr, "instruction %zu: %#llx, libipt %#llx\n", same,
               static_cast<unsigned long long>(*mine), static_cast<unsigned long long>(*other));
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const FixedCode code;
  const std::vector<std::uint8_t> trace = behind_psb_plus({data, size});
  Sink sink;
  const flow::Config config{.mtc_freq = 3,
                            .tsc_ctc_numerator = 10,
                            .tsc_ctc_denominator = 3,
                            .max_nonturbo_ratio = 24,
                            .errata = {.bdm70 = false},
                            .want_not_taken = true,
                            .want_instructions = true};
  const flow::Stats stats = flow::decode(trace, code, config, sink);
  const flow::Piece piece{.bytes = trace};
  const std::string ways = flow::difference_between_ways(std::span(&piece, 1), code, config);
  if (!ways.empty()) Sink::fail(ways.c_str());
  std::uint64_t packet_bytes = 0;
  for (const std::uint64_t bytes : stats.packet_bytes) packet_bytes += bytes;
  // Looking for a PSB after damage may go back into the last packet.
  if (packet_bytes > trace.size() + 15 * stats.total_losses())
    Sink::fail("more packets than bytes");
  if (stats.bytes != trace.size()) Sink::fail("bytes not counted");
  if (stats.total_losses() == 0 && packet_bytes != trace.size()) Sink::fail("silently skipped");
  compare(trace, sink,
          flow::libipt_path(
              trace, code,
              {.errata = {.bdm70 = false}, .stop_at_error = true, .most = sink.ips.size() + 64}));
  return 0;
}
