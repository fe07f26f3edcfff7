// One record of each kind, taken apart. Layouts: include/uapi/linux/perf_event.h, Linux 6.1, and
// tools/lib/perf/include/perf/event.h.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include "file_builder.h"

namespace hodo::perfdata {
namespace {

Layout usual() { return {.sample_type = kUsualType, .sample_id_all = true}; }

Result<Record> parse_bytes(const Bytes& bytes, const Layout& layout = usual()) {
  RawRecord raw{.offset = 1000};
  std::uint32_t type;
  std::memcpy(&type, bytes.data(), 4);
  std::memcpy(&raw.misc, bytes.data() + 4, 2);
  raw.type = static_cast<RecordType>(type);
  raw.bytes = bytes;
  return parse(raw, layout);
}

// The body of a record that must parse. The bytes outlive the views because they are a member.
template <class T>
struct Parsed {
  Bytes bytes;
  Record whole;
  T body;

  explicit Parsed(Bytes from, const Layout& layout = usual()) : bytes(std::move(from)) {
    auto result = parse_bytes(bytes, layout);
    EXPECT_TRUE(result) << result.error().message;
    if (!result) return;
    whole = *result;
    EXPECT_TRUE(std::holds_alternative<T>(whole.body));
    if (auto* found = std::get_if<T>(&whole.body)) body = *found;
  }
};

const Bytes kStamp = stamp(10, 11, 500, 3, 7);

TEST(Parse, TrailerSaysWhoWhereAndWhen) {
  const Parsed<Comm> p(record(RecordType::comm, 0, join(pack(10, 11), text("sort"), kStamp)));
  EXPECT_EQ(p.whole.id.pid, 10);
  EXPECT_EQ(p.whole.id.tid, 11);
  EXPECT_EQ(p.whole.id.time, 500u);
  EXPECT_EQ(p.whole.id.cpu, 3);
  EXPECT_EQ(p.whole.id.id, 7u);
  EXPECT_EQ(p.whole.id.stream_id, std::nullopt);
  EXPECT_EQ(p.body.comm, "sort");
  EXPECT_FALSE(p.body.exec);
}

TEST(Parse, TrailerWithEveryField) {
  const Layout layout{.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID |
                                     PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU |
                                     PERF_SAMPLE_IDENTIFIER,
                      .sample_id_all = true};
  const Bytes trailer =
      pack(1, 2, std::uint64_t{3}, std::uint64_t{4}, std::uint64_t{5}, 6, 0, std::uint64_t{4});
  const Parsed<Switch> p(record(RecordType::switch_, 0, trailer), layout);
  EXPECT_EQ(p.whole.id.tid, 2);
  EXPECT_EQ(p.whole.id.time, 3u);
  EXPECT_EQ(p.whole.id.id, 4u);
  EXPECT_EQ(p.whole.id.stream_id, 5u);
  EXPECT_EQ(p.whole.id.cpu, 6);
}

TEST(Parse, WithoutSampleIdAllThereIsNoTrailer) {
  const Parsed<Comm> p(record(RecordType::comm, 0, join(pack(10, 11), text("sort"))), Layout{});
  EXPECT_EQ(p.body.comm, "sort");
  EXPECT_EQ(p.whole.id.time, std::nullopt);
}

TEST(Parse, Mmap) {
  const Parsed<Mmap> p(
      record(RecordType::mmap, PERF_RECORD_MISC_MMAP_DATA,
             join(pack(10, 11, std::uint64_t{0x1000}, std::uint64_t{0x2000}, std::uint64_t{0x3000}),
                  text("/lib/x"), kStamp)));
  EXPECT_EQ(p.body.address, 0x1000u);
  EXPECT_EQ(p.body.size, 0x2000u);
  EXPECT_EQ(p.body.file_offset, 0x3000u);
  EXPECT_EQ(p.body.path, "/lib/x");
  EXPECT_TRUE(p.body.data);
  EXPECT_FALSE(p.body.mmap2);
}

TEST(Parse, Mmap2WithDevice) {
  const Parsed<Mmap> p(
      record(RecordType::mmap2, 0,
             join(pack(10, 11, std::uint64_t{0x1000}, std::uint64_t{0x2000}, std::uint64_t{0x3000},
                       8u, 1u, std::uint64_t{99}, std::uint64_t{5}, 5u, 2u),
                  text("/lib/x"), kStamp)));
  EXPECT_EQ(p.body.maj, 8u);
  EXPECT_EQ(p.body.min, 1u);
  EXPECT_EQ(p.body.inode, 99u);
  EXPECT_EQ(p.body.inode_generation, 5u);
  EXPECT_EQ(p.body.prot, 5u);
  EXPECT_EQ(p.body.flags, 2u);
  EXPECT_EQ(p.body.build_id.size, 0);
  EXPECT_EQ(p.body.path, "/lib/x");
}

TEST(Parse, Mmap2WithBuildId) {
  std::array<std::uint8_t, 20> id{};
  id[0] = 0xab;
  id[19] = 0xcd;
  const Parsed<Mmap> p(record(
      RecordType::mmap2, PERF_RECORD_MISC_MMAP_BUILD_ID,
      join(pack(10, 11, std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{3}, 20u, id, 5u, 2u),
           text("/lib/x"), kStamp)));
  EXPECT_EQ(p.body.build_id.size, 20);
  EXPECT_EQ(p.body.build_id.bytes, id);
  EXPECT_EQ(p.body.inode, 0u);
  EXPECT_EQ(p.body.prot, 5u);
}

TEST(Parse, BuildIdLongerThanItsFieldIsCut) {
  const Parsed<Mmap> p(
      record(RecordType::mmap2, PERF_RECORD_MISC_MMAP_BUILD_ID,
             join(pack(10, 11, std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{3}, 255u,
                       std::array<std::uint8_t, 20>{}, 5u, 2u),
                  text("x"), kStamp)));
  EXPECT_EQ(p.body.build_id.view().size(), 20u);
}

TEST(Parse, ForkAndExit) {
  const Bytes payload = join(pack(10, 1, 11, 2, std::uint64_t{44}), kStamp);
  const Parsed<Task> fork(record(RecordType::fork, 0, payload));
  EXPECT_EQ(fork.body.pid, 10);
  EXPECT_EQ(fork.body.ppid, 1);
  EXPECT_EQ(fork.body.tid, 11);
  EXPECT_EQ(fork.body.ptid, 2);
  EXPECT_EQ(fork.body.time, 44u);
  const Parsed<Task> exit(record(RecordType::exit, 0, payload));
  EXPECT_EQ(exit.whole.raw.type, RecordType::exit);
}

TEST(Parse, LostAndLostSamples) {
  const Parsed<Lost> lost(
      record(RecordType::lost, 0, join(pack(std::uint64_t{3}, std::uint64_t{77}), kStamp)));
  EXPECT_EQ(lost.body.id, 3u);
  EXPECT_EQ(lost.body.count, 77u);
  const Parsed<LostSamples> samples(
      record(RecordType::lost_samples, 0, join(pack(std::uint64_t{78}), kStamp)));
  EXPECT_EQ(samples.body.count, 78u);
}

TEST(Parse, Throttle) {
  const Parsed<Throttle> p(
      record(RecordType::throttle, 0,
             join(pack(std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{3}), kStamp)));
  EXPECT_EQ(p.body.time, 1u);
  EXPECT_EQ(p.body.stream_id, 3u);
}

TEST(Parse, Switches) {
  const Parsed<Switch> in(record(RecordType::switch_, 0, kStamp));
  EXPECT_FALSE(in.body.out);
  EXPECT_EQ(in.body.next_prev_tid, -1);
  const Parsed<Switch> out(record(RecordType::switch_cpu_wide,
                                  PERF_RECORD_MISC_SWITCH_OUT | PERF_RECORD_MISC_SWITCH_OUT_PREEMPT,
                                  join(pack(20, 21), kStamp)));
  EXPECT_TRUE(out.body.out);
  EXPECT_TRUE(out.body.preempt);
  EXPECT_EQ(out.body.next_prev_pid, 20);
  EXPECT_EQ(out.body.next_prev_tid, 21);
}

TEST(Parse, AuxAndItraceStart) {
  const Parsed<Aux> aux(
      record(RecordType::aux, 0,
             join(pack(std::uint64_t{0x100}, std::uint64_t{0x20}, std::uint64_t{1}), kStamp)));
  EXPECT_EQ(aux.body.offset, 0x100u);
  EXPECT_EQ(aux.body.size, 0x20u);
  EXPECT_EQ(aux.body.flags, PERF_AUX_FLAG_TRUNCATED);
  const Parsed<ItraceStart> start(record(RecordType::itrace_start, 0, join(pack(10, 11), kStamp)));
  EXPECT_EQ(start.body.tid, 11);
  const Parsed<AuxOutputHwId> hw(
      record(RecordType::aux_output_hw_id, 0, join(pack(std::uint64_t{9}), kStamp)));
  EXPECT_EQ(hw.body.hw_id, 9u);
}

TEST(Parse, Namespaces) {
  const Parsed<Namespaces> p(record(RecordType::namespaces, 0,
                                    join(pack(10, 11, std::uint64_t{2}, std::uint64_t{1},
                                              std::uint64_t{2}, std::uint64_t{3}, std::uint64_t{4}),
                                         kStamp)));
  ASSERT_EQ(p.body.links.size(), 2u);
  EXPECT_EQ(p.body.links[1][1], 4u);
}

TEST(Parse, KernelSymbolsAndBpf) {
  const Parsed<Ksymbol> symbol(
      record(RecordType::ksymbol, 0,
             join(pack(std::uint64_t{0xffffffffc0000000}, 72u, std::uint16_t{1}, std::uint16_t{0}),
                  text("bpf_prog"), kStamp)));
  EXPECT_EQ(symbol.body.size, 72u);
  EXPECT_EQ(symbol.body.type, 1);
  EXPECT_EQ(symbol.body.name, "bpf_prog");
  const Parsed<BpfEvent> bpf(
      record(RecordType::bpf_event, 0,
             join(pack(std::uint16_t{1}, std::uint16_t{0}, 55u, std::uint64_t{0x42}), kStamp)));
  EXPECT_EQ(bpf.body.id, 55u);
  EXPECT_EQ(bpf.body.tag.size(), 8u);
  const Parsed<Cgroup> cgroup(
      record(RecordType::cgroup, 0, join(pack(std::uint64_t{6}), text("/user"), kStamp)));
  EXPECT_EQ(cgroup.body.path, "/user");
}

TEST(Parse, TextPoke) {
  const Bytes code = {0x90, 0xcc, 0xc3, 0, 0, 0, 0, 0, 0, 0, 0, 0};  // 1 old, 2 new, padding
  const Parsed<TextPoke> p(
      record(RecordType::text_poke, PERF_RECORD_MISC_USER,
             join(pack(std::uint64_t{0x1000}, std::uint16_t{1}, std::uint16_t{2}), code, kStamp)));
  ASSERT_EQ(p.body.old_bytes.size(), 1u);
  ASSERT_EQ(p.body.new_bytes.size(), 2u);
  EXPECT_EQ(p.body.old_bytes[0], 0x90);
  EXPECT_EQ(p.body.new_bytes[1], 0xc3);
}

TEST(Parse, TextPokeWithMoreBytesThanTheRecordIsMalformed) {
  const auto result = parse_bytes(
      record(RecordType::text_poke, 0,
             join(pack(std::uint64_t{0x1000}, std::uint16_t{0}, std::uint16_t{5}, 0u), kStamp)));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::malformed);
  EXPECT_EQ(result.error().offset, 1000u);
}

TEST(Parse, SampleWithBranchStack) {
  const Layout layout{.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
                                     PERF_SAMPLE_TIME | PERF_SAMPLE_BRANCH_STACK |
                                     PERF_SAMPLE_TRANSACTION,
                      .branch_sample_type = PERF_SAMPLE_BRANCH_HW_INDEX};
  const Parsed<Sample> p(
      record(RecordType::sample, 2,
             pack(std::uint64_t{9}, std::uint64_t{0x400}, 10, 11, std::uint64_t{500},
                  std::uint64_t{2}, std::uint64_t{5}, BranchEntry{1, 2, 0x22}, BranchEntry{3, 4, 1},
                  std::uint64_t{0x77})),
      layout);
  EXPECT_EQ(p.whole.id.id, 9u);
  EXPECT_EQ(p.body.ip, 0x400u);
  EXPECT_EQ(p.body.branch_hw_index, 5u);
  ASSERT_EQ(p.body.branches.size(), 2u);
  EXPECT_EQ(p.body.branches[0].to, 2u);
  EXPECT_TRUE(p.body.branches[0].predicted());
  EXPECT_EQ(p.body.branches[0].cycles(), 2);
  EXPECT_TRUE(p.body.branches[1].mispredicted());
  EXPECT_EQ(p.body.transaction, 0x77u);
}

// Every field in the order of the kernel's perf_output_sample.
TEST(Parse, SampleWithEveryField) {
  const Layout layout{
      .sample_type = (std::uint64_t{PERF_SAMPLE_MAX} - 1) & ~std::uint64_t{PERF_SAMPLE_WEIGHT},
      .read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_ID,
      .sample_regs_user = 0b101,
      .sample_regs_intr = 0b1};
  const auto w = [](std::uint64_t value) { return value; };
  const Parsed<Sample> p(
      record(RecordType::sample, 2,
             join(pack(w(1), w(2), 3, 4, w(5), w(6), w(1), w(8), 9, 0, w(10)),  // .. period
                  pack(w(11), w(12), w(13)),                                    // read
                  pack(w(2), w(14), w(15)),                                     // callchain
                  pack(4u, 0xabcdu),                                            // raw
                  pack(w(1), BranchEntry{16, 17, 18}),                          // branches
                  pack(w(2), w(19), w(20)),                                     // user registers
                  pack(w(16), w(21), w(22), w(8)),                              // user stack
                  pack(w(23), w(24), w(25)),         // weight, data source, transaction
                  pack(w(2), w(26)),                 // interrupt registers
                  pack(w(27), w(28), w(29), w(30)),  // physical, cgroup, data page, code page
                  pack(w(8), w(31)))),               // AUX
      layout);
  EXPECT_EQ(p.body.id.stream_id, 8u);
  EXPECT_EQ(p.body.id.cpu, 9);
  EXPECT_EQ(p.body.address, 6u);
  EXPECT_EQ(p.body.period, 10u);
  EXPECT_EQ(p.body.read.size(), 24u);
  ASSERT_EQ(p.body.callchain.size(), 2u);
  EXPECT_EQ(p.body.callchain[1], 15u);
  EXPECT_EQ(p.body.raw.size(), 4u);
  ASSERT_EQ(p.body.branches.size(), 1u);
  EXPECT_EQ(p.body.branches[0].flags, 18u);
  EXPECT_EQ(p.body.user_regs.size(), 2u);
  EXPECT_EQ(p.body.user_stack.size(), 8u);
  EXPECT_EQ(p.body.weight, 23u);
  EXPECT_EQ(p.body.transaction, 25u);
  ASSERT_EQ(p.body.intr_regs.size(), 1u);
  EXPECT_EQ(p.body.intr_regs[0], 26u);
  EXPECT_EQ(p.body.physical_address, 27u);
  EXPECT_EQ(p.body.cgroup, 28u);
  EXPECT_EQ(p.body.data_page_size, 29u);
  EXPECT_EQ(p.body.code_page_size, 30u);
  EXPECT_EQ(p.body.aux.size(), 8u);
}

TEST(Parse, BranchCountLargerThanTheRecordIsMalformed) {
  const Layout layout{.sample_type = PERF_SAMPLE_BRANCH_STACK};
  for (const std::uint64_t count : {std::uint64_t{2}, ~std::uint64_t{0}, ~std::uint64_t{0} / 24}) {
    EXPECT_FALSE(
        parse_bytes(record(RecordType::sample, 0, pack(count, BranchEntry{1, 2, 3})), layout));
  }
}

TEST(Parse, AuxtraceInfoKeepsItsWords) {
  const Parsed<AuxtraceInfo> p(
      record(RecordType::auxtrace_info, 0, pack(1u, 0u, std::uint64_t{8}, std::uint64_t{9})));
  EXPECT_EQ(p.body.type, kAuxtraceIntelPt);
  ASSERT_EQ(p.body.words.size(), 2u);
  EXPECT_EQ(p.body.words[1], 9u);
}

TEST(Parse, AuxtraceErrorOldAndNew) {
  Bytes message = text("lost trace");
  message.resize(64);
  const Parsed<AuxtraceError> now(record(
      RecordType::auxtrace_error, 0,
      join(pack(1u, 8u, 2u, 10u, 11u, 1u, std::uint64_t{0x400}, std::uint64_t{99}), message)));
  EXPECT_EQ(now.body.time, 99u);
  EXPECT_EQ(now.body.message, "lost trace");
  const Parsed<AuxtraceError> before(
      record(RecordType::auxtrace_error, 0,
             join(pack(1u, 8u, 2u, 10u, 11u, 0u, std::uint64_t{0x400}), message)));
  EXPECT_EQ(before.body.time, 0u);
  EXPECT_EQ(before.body.message, "lost trace");
}

TEST(Parse, TimeConvOldAndNew) {
  const Bytes three = pack(std::uint64_t{10}, std::uint64_t{683}, std::uint64_t{7});
  const Parsed<TimeConv> before(record(RecordType::time_conv, 0, three));
  EXPECT_EQ(before.body.mult, 683u);
  EXPECT_TRUE(before.body.cap_user_time_zero);
  const Parsed<TimeConv> now(
      record(RecordType::time_conv, 0,
             join(three, pack(std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{0x0100}))));
  EXPECT_FALSE(now.body.cap_user_time_zero);
  EXPECT_TRUE(now.body.cap_user_time_short);
}

TEST(Parse, MapsAndIndexes) {
  const Parsed<ThreadMap> threads(
      record(RecordType::thread_map, 0, pack(std::uint64_t{1}, ThreadMapEntry{10, {'s', 'h'}})));
  ASSERT_EQ(threads.body.threads.size(), 1u);
  EXPECT_EQ(threads.body.threads[0].pid, 10u);
  const Parsed<IdIndex> ids(
      record(RecordType::id_index, 0, pack(std::uint64_t{1}, IdIndexEntry{1, 2, 3, 4})));
  ASSERT_EQ(ids.body.entries.size(), 1u);
  EXPECT_EQ(ids.body.entries[0].tid, 4u);
  const Parsed<CpuMap> cpus(record(RecordType::cpu_map, 0, pack(std::uint16_t{1}, 7u)));
  EXPECT_EQ(cpus.body.type, 1);
  const Parsed<EventUpdate> update(
      record(RecordType::event_update, 0, pack(std::uint64_t{2}, std::uint64_t{5})));
  EXPECT_EQ(update.body.id, 5u);
}

TEST(Parse, HeaderRecordsOfPipes) {
  perf_event_attr attr{};
  attr.size = sizeof(attr);
  attr.config = 77;
  const Parsed<HeaderAttr> p(record(RecordType::header_attr, 0, pack(attr, std::uint64_t{3})));
  EXPECT_EQ(p.body.attr.config, 77u);
  ASSERT_EQ(p.body.ids.size(), 1u);
  EXPECT_EQ(p.body.ids[0], 3u);
  const Parsed<HeaderFeature> feature(
      record(RecordType::header_feature, 0, pack(std::uint64_t{3}, std::uint64_t{1})));
  EXPECT_EQ(feature.body.feature, 3u);
  EXPECT_EQ(feature.body.data.size(), 8u);
}

TEST(Parse, UnknownTypesAreKeptWhole) {
  const Parsed<Other> tool(record(static_cast<RecordType>(200), 0, pack(std::uint64_t{1})));
  EXPECT_EQ(tool.body.payload.size(), 8u);
  const Parsed<Other> kernel(
      record(static_cast<RecordType>(40), 0, join(pack(std::uint64_t{1}), kStamp)));
  EXPECT_EQ(kernel.body.payload.size(), 8u);
  EXPECT_EQ(kernel.whole.id.tid, 11);
}

// A record of any kind, cut at any length, is refused or understood but never read past its end
// (the sanitizer builds watch).
TEST(Parse, EveryTypeAtEveryLengthStaysInside) {
  unsigned understood = 0, refused = 0;
  for (std::uint32_t type = 0; type < 90; ++type) {
    for (std::size_t size = 0; size <= 160; ++size) {
      Bytes payload(size, 0xff);
      const auto bytes = record(static_cast<RecordType>(type), 0xffff, payload);
      const Bytes exact(bytes.begin(), bytes.end());
      const auto result = parse_bytes(exact, Layout{.sample_type = ~std::uint64_t{0},
                                                    .read_format = ~std::uint64_t{0},
                                                    .branch_sample_type = ~std::uint64_t{0},
                                                    .sample_regs_user = ~std::uint64_t{0},
                                                    .sample_regs_intr = ~std::uint64_t{0},
                                                    .sample_id_all = size % 2 == 0});
      if (result) {
        ++understood;
        continue;
      }
      ++refused;
      EXPECT_EQ(result.error().code, ErrorCode::malformed) << result.error().message;
      EXPECT_GE(result.error().offset, 1000u) << "type " << type << ", " << size << " bytes";
      EXPECT_LE(result.error().offset, 1000u + exact.size()) << "type " << type;
    }
  }
  EXPECT_GT(understood, 1000u);
  EXPECT_GT(refused, 1000u);
}

TEST(RecordNames, AreThoseOfPerf) {
  EXPECT_EQ(name(RecordType::switch_cpu_wide), "SWITCH_CPU_WIDE");
  EXPECT_EQ(name(static_cast<RecordType>(63)), "");
}

}  // namespace
}  // namespace hodo::perfdata
