// What the trace unit costs for each executed block, without QEMU around it: Intel PT, BTS and LBR
// over the same random walk through a program of conditional branches, jumps and returns.
//
//     cmake --preset bench && ninja -C build/bench bench_trace_unit &&
//     build/bench/bench/bench_trace_unit
//
// The walk's branches are as unpredictable as can be, so programs cost less. The units run in turn;
// printed are medians in nanoseconds a block with the fastest and the slowest round. Before
// anything is timed BTS has to have a record of every taken branch.
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "hodo/unit/branch_walk.h"
#include "hodo/unit/bts_unit.h"
#include "hodo/unit/lbr_unit.h"
#include "hodo/unit/pt_unit.h"

namespace {

using namespace hodo;
using isa::InsnClass;
using unit::Block;

constexpr std::uint64_t kBase = 0x400000;
constexpr unsigned kBlocks = 256;
constexpr unsigned kBlockBytes = 16;
constexpr std::size_t kSteps = 1 << 20;
constexpr std::size_t kRing = 4 << 20;
constexpr int kRounds = 15;

Block make_block(unsigned n) {
  Block b{.start = kBase + n * kBlockBytes, .size = kBlockBytes, .insns = 4, .last = 2};
  const std::uint64_t next = kBase + (n + 1) % kBlocks * kBlockBytes;
  b.taken = kBase + (n * 7 + 1) % kBlocks * kBlockBytes;
  b.other = next;
  b.cls = n % 16 == 5 ? InsnClass::ret : n % 4 == 3 ? InsnClass::jmp : InsnClass::cond;
  b.tnt = b.cls == InsnClass::cond ? 1 : 0;
  if (b.cls == InsnClass::jmp) b.other = b.taken;
  if (b.cls == InsnClass::ret) b.taken = b.other = Block::kNowhere;
  return b;
}

struct Walk {
  std::vector<Block> blocks;
  std::vector<const Block*> path;
  std::uint64_t taken = 0;
};

Walk make_walk() {
  Walk walk;
  for (unsigned n = 0; n < kBlocks; ++n) walk.blocks.push_back(make_block(n));
  std::mt19937 random(1);
  unsigned at = 0;
  while (walk.path.size() < kSteps) {
    const Block& b = walk.blocks[at];
    walk.path.push_back(&b);
    const std::uint64_t to = b.cls == InsnClass::ret ? kBase + random() % kBlocks * kBlockBytes
                             : (random() & 1) != 0   ? b.taken
                                                     : b.other;
    if (walk.path.size() < kSteps && (b.cls != InsnClass::cond || to == b.taken)) ++walk.taken;
    at = static_cast<unsigned>((to - kBase) / kBlockBytes);
  }
  return walk;
}

// Addresses are this program's own.
class OwnMemory final : public hw::DsMemory {
 public:
  std::span<std::uint8_t> at(std::uint64_t address, std::size_t size) override {
    return {reinterpret_cast<std::uint8_t*>(address), size};
  }
  Result<std::uint64_t> allocate(std::size_t) override {
    return fail(ErrorCode::no_space, "everything is there already");
  }
  void release(std::uint64_t) override {}
};

// A BTS buffer whose handler empties it at once, and counts.
struct Bts {
  Bts() {
    const auto base = reinterpret_cast<std::uint64_t>(buffer.data());
    const std::uint64_t size = buffer.size() / sizeof(hw::BtsRecord) * sizeof(hw::BtsRecord);
    area.bts = {.base = base, .index = base, .maximum = base + size, .threshold = base + size};
    walk.unit.start({.ds_area = reinterpret_cast<std::uint64_t>(&area),
                     .memory = &memory,
                     .interrupts = true,
                     .interrupt = [](void* self) { static_cast<Bts*>(self)->empty(); },
                     .owner = this});
    walk.start({});
  }
  void empty() {
    records += area.bts.used() / sizeof(hw::BtsRecord);
    area.bts.index = area.bts.base;
  }

  std::vector<std::uint8_t> buffer = std::vector<std::uint8_t>(kRing);
  hw::DsArea area;  // as the 64-bit layout has it
  OwnMemory memory;
  unit::BranchWalk<unit::BtsUnit> walk;
  std::uint64_t records = 0;
};

// A PT ring that somebody reads at once.
struct Pt {
  Pt()
      : ring(static_cast<std::uint8_t*>(
            mmap(nullptr, 2 * kRing, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    if (ring == MAP_FAILED) std::abort();
    unit.start(hw::rtit_ctl::kBranchEn | hw::rtit_ctl::kPsbFreq.set(0, 3), isa::Mode::bits64,
               {.base = ring,
                .size = kRing,
                .reserve = [](void*, std::uint64_t) { return std::uint64_t{kRing}; }},
               nullptr);
  }
  std::uint8_t* ring;
  unit::PtUnit unit;
};

struct Way {
  const char* name;
  std::function<void()> run;
  std::vector<double> nanoseconds;
};

void measure(Way& way) {
  const auto start = std::chrono::steady_clock::now();
  way.run();
  const std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - start;
  way.nanoseconds.push_back(spent.count() / static_cast<double>(kSteps));
}

}  // namespace

int main() {
  const Walk walk = make_walk();
  Pt pt;
  Bts bts;
  unit::BranchWalk<unit::LbrUnit> lbr;
  lbr.unit.configure(*hw::lbr_layout({hw::Vendor::intel, 6, 0x5e, 3}));
  lbr.unit.enable(true);
  lbr.start({});
  Way ways[] = {{"Intel PT",
                 [&] {
                   for (const Block* b : walk.path) pt.unit.enter<false>(b);
                 },
                 {}},
                {"BTS",
                 [&] {
                   for (const Block* b : walk.path) bts.walk.enter(b);
                 },
                 {}},
                {"LBR",
                 [&] {
                   for (const Block* b : walk.path) lbr.enter(b);
                 },
                 {}}};
  for (Way& way : ways) way.run();
  bts.walk.unit.drain();
  bts.empty();
  bts.walk.unit.reload();
  // The first record says where the walk came from.
  if (bts.records != walk.taken + 1 || bts.walk.unit.dropped() != 0) {
    std::fprintf(stderr, "%lu records of %lu branches\n", bts.records, walk.taken);
    return 1;
  }
  for (int round = 0; round < kRounds; ++round) {
    for (Way& way : ways) measure(way);
  }
  for (Way& way : ways) {
    std::ranges::sort(way.nanoseconds);
    std::printf("%-8s %5.2f ns/block  (%.2f to %.2f)\n", way.name, way.nanoseconds[kRounds / 2],
                way.nanoseconds.front(), way.nanoseconds.back());
  }
}
