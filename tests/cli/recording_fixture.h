// A recording made by hand: six instructions of one thread, the code kept in the file itself.
//
//   401000  call 401010     begin -> 401000, call 401000 -> 401010
//   401005  je   401009     cond 401005 -> 401009
//   401009  syscall         syscall 401009 -> (tracing stops)
//   40100b  jmp  401000     begin -> 40100b, jmp 40100b -> 401000; call, ret; then
//   401005  je   401009     cond not taken
//   401007  nop; nop        and syscall again
//   401010  ret             ret 401010 -> 401005, compressed
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "hodo/perfdata/writer.h"
#include "hodo/pt/writer.h"

namespace hodo::cli {

inline const std::vector<std::uint8_t> kCode{
    0xe8, 0x0b, 0x00, 0x00, 0x00,  // 401000 call 401010
    0x74, 0x02,                    // 401005 je 401009
    0x90, 0x90,                    // 401007 nop; nop
    0x0f, 0x05,                    // 401009 syscall
    0xeb, 0xf3,                    // 40100b jmp 401000
    0x90, 0x90, 0x90,              // 40100d
    0xc3,                          // 401010 ret
};

class Packets {
 public:
  Packets& add(const pt::Packet& packet) {
    std::uint8_t bytes[pt::kMaxPacketSize];
    std::size_t size = pt::write(packet, bytes);
    EXPECT_NE(size, 0u) << name(packet.type);
    bytes_.insert(bytes_.end(), bytes, bytes + size);
    return *this;
  }
  Packets& ip(pt::PacketType type, std::uint64_t address) {
    return add({.type = type, .ip_bytes = pt::IpBytes::sext48, .payload = address});
  }
  Packets& tnt(std::uint8_t count, std::uint64_t outcomes) {
    return add({.type = pt::PacketType::tnt, .count = count, .payload = outcomes});
  }
  Packets& start(std::uint64_t tsc) {
    add({.type = pt::PacketType::psb});
    add({.type = pt::PacketType::tsc, .payload = tsc});
    add({.type = pt::PacketType::mode_exec, .payload = pt::kExecCsL});
    return add({.type = pt::PacketType::psbend});
  }
  const std::vector<std::uint8_t>& bytes() const { return bytes_; }

 private:
  std::vector<std::uint8_t> bytes_;
};

// The trace of the program above.
inline Packets sample_trace(std::uint64_t tsc = 2000) {
  Packets p;
  p.start(tsc);
  p.ip(pt::PacketType::tip_pge, 0x401000).tnt(2, 0b11);
  p.add({.type = pt::PacketType::tip_pgd});
  p.add({.type = pt::PacketType::tsc, .payload = tsc + 500});
  p.ip(pt::PacketType::tip_pge, 0x40100b).tnt(2, 0b10);
  p.add({.type = pt::PacketType::tip_pgd});
  return p;
}

struct FixtureThread {
  std::int32_t pid = 42;
  std::int32_t tid = 42;
  std::vector<std::uint8_t> trace;
  std::uint32_t idx = 0;  // AuxQueue::idx; each thread needs its own
};

struct FixtureOptions {
  std::string comm = "sample";
  std::vector<FixtureThread> threads{{42, 42, sample_trace().bytes()}};
  bool finish = true;
  std::string mapped_file;  // map this at 0x401000 instead of keeping the code
  perfdata::BuildId build_id;
  bool keep_code = true;     // else nothing is known of 0x401000
  std::string jit_dump;      // map this file somewhere else
  std::string facts = "{}";  // hodoscope's own section
};

inline void must(const Status& status) {
  ASSERT_TRUE(status.has_value()) << status.error().message;
}

inline void write_recording(const std::string& path, const FixtureOptions& options = {}) {
  perfdata::WriterOptions how;
  how.pt.time = {.shift = 0, .mult = 1, .zero = 0};
  how.cmdline = {"hodo", "record", "--", "./sample", "two words"};
  how.version = "hodoscope test";
  how.clock = perfdata::ClockData{
      .clockid = 1, .wall_clock_ns = 1'700'000'000'000'000'000, .clockid_ns = 1000};
  auto writer = perfdata::Writer::create(path, how);
  ASSERT_TRUE(writer.has_value()) << writer.error().message;
  std::int32_t pid = options.threads[0].pid;
  perfdata::Stamp stamp{.pid = pid, .tid = pid, .time = 1000};
  must(writer->comm({.pid = pid, .tid = pid, .comm = options.comm, .exec = true}, stamp));
  if (!options.jit_dump.empty()) {
    must(writer->mmap({.pid = pid,
                       .tid = pid,
                       .address = 0x700000,
                       .size = 0x1000,
                       .path = options.jit_dump,
                       .prot = 5,
                       .flags = 2},
                      stamp));
  }
  if (options.mapped_file.empty()) {
    if (options.keep_code) must(writer->code(0x401000, kCode, stamp));
  } else {
    must(writer->mmap({.pid = pid,
                       .tid = pid,
                       .address = 0x401000,
                       .size = 0x1000,
                       .path = options.mapped_file,
                       .prot = 5,
                       .flags = 2,
                       .build_id = options.build_id},
                      stamp));
  }
  for (const FixtureThread& thread : options.threads) {
    perfdata::Stamp own{.pid = thread.pid, .tid = thread.tid, .time = 1500};
    if (thread.tid != pid) {
      must(writer->fork({.pid = pid, .ppid = pid, .tid = thread.tid, .ptid = pid, .time = 1500},
                        own));
    }
    must(writer->itrace_start({.pid = thread.pid, .tid = thread.tid}, own));
    own.time = 3000;
    must(writer->aux({.offset = 0, .size = thread.trace.size()}, own));
    std::span<const std::uint8_t> bytes = thread.trace;
    must(writer->auxtrace({.offset = 0, .idx = thread.idx, .tid = thread.tid, .cpu = -1},
                          std::span(&bytes, 1)));
  }
  must(writer->flush());
  if (options.finish) must(writer->finish(options.facts));
}

}  // namespace hodo::cli
