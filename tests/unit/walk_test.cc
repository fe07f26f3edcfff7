// Random programs, walked at random through the unit: the decoder must give the walk back.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <deque>
#include <ostream>
#include <random>

#include "../flow/fixture.h"
#include "../flow/taken_away.h"
#include "../flow/ways.h"
#include "../repeats.h"
#include "ds_memory.h"
#include "hodo/unit/branch_walk.h"
#include "hodo/unit/bts_unit.h"
#include "rig.h"

namespace hodo::unit {
namespace {

using isa::InsnClass;

constexpr std::uint64_t kBase = 0x401000;

// Blocks one behind the other, and the machine code for them.
struct Program {
  std::vector<Block> blocks;
  flow::Code code;
};

std::uint8_t branch_size(InsnClass cls) {
  switch (cls) {
    case InsnClass::cond:
      return 6;
    case InsnClass::jmp:
    case InsnClass::call:
      return 5;
    case InsnClass::ret:
    case InsnClass::other:
      return 1;
    default:
      return 2;
  }
}

void write_branch(flow::Code& code, const Block& b) {
  switch (b.cls) {
    case InsnClass::cond:
      code.jz(b.taken);
      return;
    case InsnClass::jmp:
      code.jmp(b.taken);
      return;
    case InsnClass::call:
      code.call(b.taken);
      return;
    case InsnClass::icall:
      code.icall();
      return;
    case InsnClass::ijmp:
      code.ijmp();
      return;
    case InsnClass::ret:
      code.ret();
      return;
    case InsnClass::syscall:
      code.syscall();
      return;
    default:
      code.nop();
  }
}

void set_successors(Block& b, std::uint64_t target) {
  switch (b.cls) {
    case InsnClass::cond:
      b.taken = target, b.other = b.end(), b.tnt = 1;
      break;
    case InsnClass::jmp:
    case InsnClass::call:
      b.taken = b.other = target;
      break;
    case InsnClass::other:
      b.taken = b.other = b.end();
      break;
    default:
      break;
  }
  if (b.cls == InsnClass::icall || (b.cls == InsnClass::call && target != b.end())) {
    b.flags = Block::kPushes;
  }
}

Program make_program(std::mt19937& random) {
  constexpr InsnClass kKinds[] = {InsnClass::cond, InsnClass::cond,  InsnClass::cond,
                                  InsnClass::jmp,  InsnClass::call,  InsnClass::call,
                                  InsnClass::ret,  InsnClass::ret,   InsnClass::icall,
                                  InsnClass::ijmp, InsnClass::other, InsnClass::syscall};
  Program program;
  program.blocks.resize(4 + random() % 60);
  std::uint64_t at = kBase;
  for (Block& b : program.blocks) {
    b.start = at;
    b.cls = kKinds[random() % std::size(kKinds)];
    b.insns = static_cast<std::uint16_t>(1 + random() % 6);
    b.last = branch_size(b.cls);
    b.size = static_cast<std::uint16_t>(b.insns - 1 + b.last);
    at = b.end();
  }
  program.blocks.back().cls = InsnClass::ijmp;  // nothing falls off the end
  Block& last = program.blocks.back();
  last.last = 2;
  last.size = static_cast<std::uint16_t>(last.insns + 1);
  program.code.at(kBase);
  for (std::size_t i = 0; i < program.blocks.size(); ++i) {
    Block& b = program.blocks[i];
    // Direct jumps and calls go forward: of a circle that makes no packet, a trace cannot tell how
    // often it was run.
    const bool always = b.cls == InsnClass::jmp || b.cls == InsnClass::call;
    const std::size_t from = always ? i + 1 : 0;
    set_successors(b, program.blocks[from + random() % (program.blocks.size() - from)].start);
    for (unsigned n = 1; n < b.insns; ++n) program.code.nop();
    write_branch(program.code, b);
  }
  return program;
}

// A processor that executes the program at random, and what happens on the way.
class Walk {
 public:
  Walk(const Program& program, std::mt19937& random, Rig& rig)
      : program_(program), random_(random), rig_(rig) {}

  void run(int steps) {
    enter(pick());
    for (int i = 0; i < steps; ++i) {
      if (hiccups)
        rig_.draining = random_() % 1000 != 0 && (rig_.draining || random_() % 3000 == 0);
      step();
    }
    rig_.draining = true;
    leave();
  }

  BranchWalk<BtsUnit>* bts = nullptr;  // sees the same execution
  bool hiccups = false;                // the consumer stops now and then
  std::vector<std::string> expected;
  std::vector<std::uint64_t> clocks;  // when each of them happened
  std::vector<std::string> records;   // the same as "from>to", without pauses

 private:
  const Block& pick() { return program_.blocks[random_() % program_.blocks.size()]; }
  const Block& at(std::uint64_t ip) const {
    return *std::ranges::find(program_.blocks, ip, &Block::start);
  }
  void note(std::string line, bool pause = false) {
    if (!pause) records.push_back(line.substr(line.find(' ') + 1));
    expected.push_back(std::move(line));
    clocks.push_back(Rig::clock);
  }

  void enter(const Block& b) {
    Rig::clock += random_() % 300;
    const bool pauses = tracing_ && pause_;
    if (pauses) note(fmt::format("end {:x}>0", b.start), true);
    if (!tracing_ || pause_) note(fmt::format("begin 0>{:x}", b.start), pauses);
    pause_ = false;
    tracing_ = true;
    rig_.enter(b);
    if (bts != nullptr) bts->enter(&b);
    now_ = &b;
  }

  // Where the block's branch goes, which is noted if it was taken.
  const Block& next() {
    const Block& b = *now_;
    switch (b.cls) {
      case InsnClass::cond: {
        // Nobody can see whether a branch to the next instruction was taken; the unit says it was.
        const bool taken = b.taken == b.end() || random_() % 2 != 0;
        if (taken) note(fmt::format("cond {:x}>{:x}", b.source(), b.taken));
        return at(taken ? b.taken : b.end());
      }
      case InsnClass::jmp:
        note(fmt::format("jmp {:x}>{:x}", b.source(), b.taken));
        return at(b.taken);
      case InsnClass::call:
        note(fmt::format("call {:x}>{:x}", b.source(), b.taken));
        calls_.push_back(b.end());
        return at(b.taken);
      case InsnClass::icall:
        calls_.push_back(b.end());
        return indirect("icall");
      case InsnClass::ijmp:
        return indirect("ijmp");
      case InsnClass::ret:
        return indirect("ret");
      default:
        return at(b.end());
    }
  }

  const Block& indirect(const char* kind) {
    const Block* to = &pick();
    if (now_->cls == InsnClass::ret && !calls_.empty()) {
      // Mostly to where the call came from; sometimes elsewhere, as longjmp and forged returns do.
      if (random_() % 8 != 0) to = &at(calls_.back());
      calls_.pop_back();
    }
    note(fmt::format("{} {:x}>{:x}", kind, now_->source(), to->start));
    return *to;
  }

  void leave() {
    if (now_->cls == InsnClass::syscall) note(fmt::format("syscall {:x}>0", now_->source()));
    if (now_->cls != InsnClass::syscall) interrupt(false);
    if (tracing_) rig_.unit.leave_context();
    if (tracing_ && bts != nullptr) bts->leave_context();
    tracing_ = false;
  }

  // A signal, before the next block or at an instruction of this one.
  void interrupt(bool faulted) {
    std::uint64_t ip = 0;
    if (faulted) {
      ip = now_->start + random_() % now_->insns;
      if (ip > now_->source()) ip = now_->source();
    } else {
      ip = next().start;
    }
    note(fmt::format("end {:x}>0", ip));
    rig_.unit.interrupt(ip, faulted);
    if (bts != nullptr) bts->interrupt(ip, faulted);
    tracing_ = false;
  }

  void step() {
    if (now_->cls == InsnClass::syscall) {
      const std::uint64_t back = now_->end();
      leave();
      return enter(random_() % 4 != 0 ? at(back) : pick());
    }
    if (random_() % 50 == 0) {
      interrupt(random_() % 2 != 0);
      return enter(pick());
    }
    const Block& to = next();
    if (random_() % 80 == 0) {
      rig_.unit.code_changed();
      pause_ = true;
    }
    enter(to);
  }

  const Program& program_;
  std::mt19937& random_;
  Rig& rig_;
  const Block* now_ = nullptr;
  std::deque<std::uint64_t> calls_;
  bool tracing_ = false;
  bool pause_ = false;
};

std::vector<Branch> wanted(const flow::Decoded& decoded) {
  std::vector<Branch> out;
  for (const Branch& b : decoded.branches) {
    if ((b.flags & (kNotTaken | kResync)) == 0) out.push_back(b);
  }
  return out;
}

std::vector<std::string> text(const std::vector<Branch>& branches) {
  std::vector<std::string> out;
  for (const Branch& b : branches)
    out.push_back(fmt::format("{} {:x}>{:x}", name(b.kind), b.from, b.to));
  return out;
}

flow::Config config_for(std::uint64_t rtit_ctl) {
  flow::Config config;
  config.mtc_freq = static_cast<std::uint8_t>(hw::rtit_ctl::kMtcFreq.get(rtit_ctl));
  config.tsc_ctc_numerator = kTscPerCtc;
  config.tsc_ctc_denominator = 1;
  config.max_nonturbo_ratio = 10;
  return config;
}

void expect_same_in_every_way(Rig& rig, const image::CodeSource& code, std::uint64_t rtit_ctl) {
  const flow::Piece piece{.bytes = rig.bytes()};
  // It decodes a dozen times: enough of the walks are short.
  if (piece.bytes.size() > 4096) return;
  EXPECT_EQ(flow::difference_between_ways(std::span(&piece, 1), code, config_for(rtit_ctl)), "");
}

flow::Decoded decode(const Program& program, Rig& rig, std::uint64_t rtit_ctl) {
  flow::Decoded out;
  out.stats = flow::decode(rig.bytes(), program.code, config_for(rtit_ctl), out);
  expect_same_in_every_way(rig, program.code, rtit_ctl);
  return out;
}

struct Setting {
  const char* name;
  std::uint64_t rtit_ctl;
  std::uint64_t ring = 1 << 16;
  friend void PrintTo(const Setting& setting, std::ostream* out) { *out << setting.name; }
};

class RandomWalk : public testing::TestWithParam<Setting> {};

TEST_P(RandomWalk, WithoutPartsOfTheCodeHasNoBranchThatWasNotTaken) {
  constexpr std::uint64_t kPage = 16;  // some blocks
  const auto [name, rtit_ctl, ring] = GetParam();
  std::uint64_t kept = 0;
  std::uint64_t losses = 0;
  for (unsigned seed = 0; seed < repeats(150); ++seed) {
    std::mt19937 random(seed);
    const Program program = make_program(random);
    Rig::clock = 1'000'000;
    Rig rig(rtit_ctl, ring);
    Walk(program, random, rig).run(seed % 20 == 0 ? 20'000 : 500);
    const flow::Listed whole(rig.bytes(), program.code, config_for(rtit_ctl));
    const std::set<std::uint64_t> pages = pages_of(whole, kPage);
    std::set<std::uint64_t> missing;
    for (const std::uint64_t page : pages) {
      if (random() % pages.size() < 1 + seed % 3) missing.insert(page);
    }
    const flow::WithoutPages code(program.code, kPage, missing);
    const flow::Listed part(rig.bytes(), code, config_for(rtit_ctl));
    ASSERT_EQ(not_in(whole, part), "") << "seed " << seed;
    expect_same_in_every_way(rig, code, rtit_ctl);
    kept += part.stats.instructions;
    losses += part.losses.size();
  }
  EXPECT_GT(losses, repeats(1000));
  EXPECT_GT(kept, repeats(10'000));
}

TEST_P(RandomWalk, IsWhatTheDecoderFinds) {
  const auto [name, rtit_ctl, ring] = GetParam();
  for (unsigned seed = 0; seed < repeats(150); ++seed) {
    std::mt19937 random(seed);
    const Program program = make_program(random);
    Rig::clock = 1'000'000;
    Rig rig(rtit_ctl, ring);
    Walk walk(program, random, rig);
    walk.run(seed % 20 == 0 ? 20'000 : 500);
    const flow::Decoded decoded = decode(program, rig, rtit_ctl);
    for (const flow::Loss& loss : decoded.losses) {
      FAIL() << "seed " << seed << ": " << loss.reason << " at " << loss.offset;
    }
    const auto found = wanted(decoded);
    const auto lines = text(found);
    const auto [left, right] = std::ranges::mismatch(lines, walk.expected);
    ASSERT_TRUE(lines == walk.expected)
        << "seed " << seed << ", line " << left - lines.begin() << " of " << lines.size() << ": "
        << (left == lines.end() ? "nothing" : *left) << ", expected "
        << (right == walk.expected.end() ? "nothing" : *right);
    EXPECT_EQ(rig.unit.overflows(), 0u);
    EXPECT_EQ(rig.unit.unexplained(), 0u);
    if ((rtit_ctl & hw::rtit_ctl::kCycEn) != 0) continue;  // instructions are no time
    for (std::size_t i = 0; i < found.size(); ++i) {
      ASSERT_LE(found[i].time, walk.clocks[i]) << "seed " << seed << ": ahead of its time";
    }
  }
}

// One execution, both units: the BTS records are the taken branches that the packets decode to.
TEST(TwoUnits, BtsRecordsWhatThePacketsDecodeTo) {
  for (unsigned seed = 0; seed < repeats(40); ++seed) {
    std::mt19937 random(seed);
    const Program program = make_program(random);
    Rig::clock = 1'000'000;
    Rig rig(kTiming);
    FakeMemory memory;
    constexpr std::size_t kBytes = 8000 * sizeof(hw::BtsRecord);
    const std::uint64_t buffer = *memory.allocate(kBytes);
    const std::uint64_t area = *memory.allocate(hw::ds_area_bytes(hw::DsLayout::bits64));
    memory.set_area(area, {.bts = {.base = buffer, .index = buffer, .maximum = buffer + kBytes}});
    BranchWalk<BtsUnit> bts;
    bts.unit.start({.ds_area = area, .memory = &memory});
    bts.start({});
    Walk walk(program, random, rig);
    walk.bts = &bts;
    walk.run(2000);

    ASSERT_EQ(text(wanted(decode(program, rig, kTiming))), walk.expected) << seed;
    std::vector<std::string> recorded;
    ByteReader in(memory.at(buffer, memory.area(area).bts.used()));
    while (const auto record = hw::read_bts_record(in, hw::DsLayout::bits64)) {
      recorded.push_back(fmt::format("{:x}>{:x}", record->from, record->to));
    }
    ASSERT_LT(recorded.size(), 8000u) << "the buffer did not wrap";
    EXPECT_EQ(recorded, walk.records) << seed;
    EXPECT_EQ(bts.unexplained(), 0u);
  }
}

bool has_tip(const Branch& b) {
  const bool indirect =
      b.kind == BranchKind::ijmp || b.kind == BranchKind::icall || b.kind == BranchKind::ret;
  return indirect && (b.flags & (kAsync | kTraceEnd)) == 0;
}

// The packets as a processor writes them that holds TIPs back until its TNT is full (SDM, "Deferred
// TIPs"), but for those of returns, which force it out. Without timing and compressed returns.
flow::Trace with_deferred_tips(const std::vector<pt::Packet>& packets, const flow::Listed& whole) {
  flow::Trace out;
  std::string outcomes;
  std::vector<std::uint64_t> tips;
  const auto flush = [&] {
    if (!outcomes.empty()) out.tnt(std::exchange(outcomes, {}));
    for (const std::uint64_t tip : std::exchange(tips, {})) out.tip(tip);
  };
  auto branch = whole.branches.begin();
  pt::LastIp last;
  bool in_psb_plus = false;
  bool behind_fup = false;
  std::optional<std::uint64_t> psb_ip;
  for (const pt::Packet& packet : packets) {
    if (packet.type == pt::PacketType::psb) last.clear();
    const bool has_ip = last.update(packet);
    const auto ip = has_ip ? std::optional(last.ip()) : std::nullopt;
    switch (packet.type) {
      case pt::PacketType::psb:
        flush();
        psb_ip.reset();
        in_psb_plus = true;
        break;
      case pt::PacketType::psbend:
        out.psb(psb_ip);
        in_psb_plus = false;
        break;
      case pt::PacketType::tnt:
        for (unsigned i = packet.count; i-- > 0;) {
          outcomes += (packet.payload >> i & 1) != 0 ? 'T' : 'N';
          if (outcomes.size() == 6) flush();
        }
        break;
      case pt::PacketType::tip: {
        if (std::exchange(behind_fup, false)) {
          out.tip(*ip);
          break;
        }
        branch = std::find_if(branch, whole.branches.end(), has_tip);
        const bool forces = branch->kind == BranchKind::ret;
        ++branch;
        tips.push_back(*ip);
        if (forces || outcomes.empty()) flush();
        break;
      }
      case pt::PacketType::fup:
        if (in_psb_plus) {
          psb_ip = ip;
          break;
        }
        flush();
        out.fup(*ip);
        behind_fup = true;
        break;
      case pt::PacketType::tip_pge:
        flush();
        out.pge(*ip);
        break;
      case pt::PacketType::tip_pgd:
        flush();
        out.pgd(ip);
        behind_fup = false;
        break;
      default:
        break;  // says nothing about the path
    }
  }
  flush();
  return out;
}

TEST(DeferredTips, WithoutPartsOfTheCodeNoBranchIsInvented) {
  constexpr std::uint64_t kCtl = kPlain | hw::rtit_ctl::kDisRetc;
  constexpr std::uint64_t kPage = 16;
  std::uint64_t kept = 0;
  for (unsigned seed = 0; seed < repeats(300); ++seed) {
    std::mt19937 random(seed);
    const Program program = make_program(random);
    Rig::clock = 1'000'000;
    Rig rig(kCtl);
    Walk(program, random, rig).run(1000);
    const flow::Listed whole(rig.bytes(), program.code, config_for(kCtl));
    const flow::Trace trace = with_deferred_tips(rig.packets(), whole);
    const flow::Listed deferred(trace.bytes(), program.code, config_for(kCtl));
    ASSERT_EQ(text(deferred.branches), text(whole.branches)) << seed;
    ASSERT_EQ(deferred.losses.size(), 0u);
    std::set<std::uint64_t> missing = pages_of(whole, kPage);
    std::erase_if(missing, [&](std::uint64_t) { return random() % 8 != 0; });
    const flow::WithoutPages code(program.code, kPage, missing);
    const flow::Listed part(trace.bytes(), code, config_for(kCtl));
    ASSERT_EQ(not_in(deferred, part), "") << "seed " << seed;
    kept += part.stats.instructions;
  }
  EXPECT_GT(kept, repeats(100'000));
}

// The consumer stops now and then: what is decoded between the gaps is a part of the walk.
TEST_P(RandomWalk, LosesNothingButWhatItSays) {
  const auto [name, rtit_ctl, ring] = GetParam();
  unsigned gaps = 0;
  for (unsigned seed = 0; seed < repeats(60); ++seed) {
    std::mt19937 random(seed);
    const Program program = make_program(random);
    Rig::clock = 1'000'000;
    Rig rig(rtit_ctl, 4096);
    Walk walk(program, random, rig);
    walk.hiccups = true;
    walk.run(20'000);
    rig.finish();
    const flow::Decoded decoded = decode(program, rig, rtit_ctl);
    for (const flow::Loss& loss : decoded.losses) {
      ASSERT_EQ(loss.cause, flow::LossCause::overflow)
          << "seed " << seed << ": " << loss.reason << " at " << loss.offset;
    }
    EXPECT_EQ(decoded.losses.size(), rig.unit.overflows()) << seed;
    gaps += static_cast<unsigned>(decoded.losses.size());
    auto rest = walk.expected.begin();
    for (const std::string& line : text(wanted(decoded))) {
      if (line.starts_with("lost ")) continue;
      rest = std::find(rest, walk.expected.end(), line);
      ASSERT_NE(rest, walk.expected.end()) << "seed " << seed << ": " << line << " never happened";
      ++rest;
    }
  }
  EXPECT_GT(gaps, repeats(50));
}

INSTANTIATE_TEST_SUITE_P(
    PtUnit, RandomWalk,
    testing::Values(Setting{"plain", kPlain}, Setting{"timing", kTiming},
                    Setting{"no_return_compression", kTiming | hw::rtit_ctl::kDisRetc},
                    Setting{"cycles", kTiming | hw::rtit_ctl::kCycEn},
                    Setting{"cycles_over_a_threshold", kTiming | hw::rtit_ctl::kCycEn | 5ULL << 19},
                    Setting{"cycles_alone", kPlain | hw::rtit_ctl::kCycEn},
                    Setting{"tiny_ring", kTiming, 4096},
                    Setting{"long_psb_period", kTiming | 3ULL << 24},
                    Setting{"fast_mtc", kPlain | hw::rtit_ctl::kTscEn | hw::rtit_ctl::kMtcEn}),
    [](const auto& param) { return std::string(param.param.name); });

}  // namespace
}  // namespace hodo::unit
