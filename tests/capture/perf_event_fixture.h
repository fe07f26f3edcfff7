// A machine with Intel PT, BTS and last branch records as the kernel's perf events show it, played
// by a script for each processor; and what a recording of it says when it is read back.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "fake_kernel.h"
#include "fake_sysfs.h"
#include "hodo/capture/perf_event_source.h"
#include "hodo/perfdata/model.h"
#include "hodo/perfdata/reader.h"

namespace hodo::capture {

inline constexpr std::size_t kKiB = 1024;

// `count` TSC packets that count up from `first`: 8 bytes each, all different, genuine Intel PT.
inline ByteVector tsc_packets(std::uint64_t first, std::size_t count) {
  ByteVector out;
  for (std::uint64_t i = first; i < first + count; ++i) append(out, i << 8 | 0x19);
  return out;
}
// PSB, TSC, PSBEND, padded to 32 bytes.
inline ByteVector psb_group(std::uint64_t tsc) {
  ByteVector out;
  for (int i = 0; i < 8; ++i) append(out, std::uint16_t{0x8202});
  append(out, tsc << 8 | 0x19);
  append(out, std::uint16_t{0x2302});
  out.resize(32);
  return out;
}

inline ByteVector psb_group_and_tsc_packets() {
  ByteVector out = psb_group(2);
  const ByteVector more = tsc_packets(3, 100);
  out.insert(out.end(), more.begin(), more.end());
  return out;
}

class SourceTest : public ::testing::Test {
 protected:
  SourceTest() {
    system.add_pmu("intel_pt", skylake_pt());
    options.output = path("out.data");
    options.buffer_size = 64 * kKiB;
    options.command = {"true"};
    context.paths = system.paths();
    context.kernel = &kernel;
    context.cmdline = {"hodo", "record"};
    context.version = "hodoscope test";
  }

  std::string path(const std::string& name) const { return system.root() + "/" + name; }
  void touch(const std::string& name) const { std::ofstream out(path(name)); }
  bool exists(const std::string& name) const { return std::filesystem::exists(path(name)); }
  // A program that ends with `status` when the file `name` appears: the script says when it is
  // done.
  void program_waits_for(const std::string& name, int status = 0) {
    options.command = {
        "sh", "-c",
        "while [ ! -e " + path(name) + " ]; do sleep 0.01; done; exit " + std::to_string(status)};
  }
  RecordResult record() {
    auto result = record_perf_event(options, context);
    EXPECT_TRUE(result) << result.error().message;
    return result ? *result : RecordResult{};
  }
  Error refusal() {
    auto result = record_perf_event(options, context);
    EXPECT_FALSE(result);
    return result ? Error{} : result.error();
  }

  FakeSystem system;
  FakeKernel kernel;
  RecordOptions options;
  PerfEventContext context;
};

// A recording read back, buffer by buffer.
struct ReadBack {
  explicit ReadBack(const std::string& path) : reader(perfdata::Reader::open(path).value()) {
    perfdata::Cursor cursor = reader.records();
    while (const auto record = cursor.next()) add(*record);
    EXPECT_EQ(cursor.damage_count(), 0u);
    EXPECT_THAT(reader.damages(), ::testing::IsEmpty());
  }

  void add(const perfdata::Record& record) {
    ++counts[record.raw.type];
    if (const auto* info = std::get_if<perfdata::AuxtraceInfo>(&record.body)) {
      for (std::size_t i = 0; i < info->words.size(); ++i) words.push_back(info->words[i]);
      info_bytes.assign(info->bytes.begin(), info->bytes.end());
    } else if (const auto* aux = std::get_if<perfdata::Auxtrace>(&record.body)) {
      EXPECT_EQ(aux->cpu, static_cast<int>(aux->idx));
      EXPECT_EQ(aux->tid, -1);
      EXPECT_EQ(aux->data_size, aux->size);
      ByteVector data(aux->data_size);
      EXPECT_TRUE(reader.read(aux->data_offset, data));
      ByteVector& bytes = traces[aux->cpu];
      offsets[aux->cpu].push_back(aux->offset);
      bytes.insert(bytes.end(), data.begin(), data.end());
    } else if (const auto* flags = std::get_if<perfdata::Aux>(&record.body)) {
      if (flags->flags != 0) aux_flags.push_back(flags->flags);
    } else if (const auto* comm = std::get_if<perfdata::Comm>(&record.body)) {
      comms.push_back({std::string(comm->comm), comm->exec});
    }
  }

  perfdata::Reader reader;
  std::map<perfdata::RecordType, int> counts;
  std::vector<std::uint64_t> words;  // of AUXTRACE_INFO
  ByteVector info_bytes;
  std::map<int, ByteVector> traces;  // by processor; padding to 8 bytes included
  std::map<int, std::vector<std::uint64_t>> offsets;
  std::vector<std::uint64_t> aux_flags;
  std::vector<std::pair<std::string, bool>> comms;
};

// Processor 0 sees the program start and trace a little, processor 1 traces more.
// The processors run side by side, so the last of them says `done`.
inline void play_small_recording(FakeKernel& kernel, const std::function<void()>& done) {
  auto playing = std::make_shared<std::atomic<int>>(2);
  const auto finished = [done, playing] {
    if (--*playing == 0) done();
  };
  kernel.scripts[0] = [finished](FakeCpu& cpu) {
    const auto pid = static_cast<std::uint32_t>(cpu.pid());
    ByteVector comm, mmap2, itrace;
    for (const std::uint32_t v : {pid, pid}) append(comm, v);
    for (const char c : {'s', 'h', '\0'}) append(comm, c);
    cpu.record(PERF_RECORD_COMM, comm, PERF_RECORD_MISC_COMM_EXEC);
    for (const std::uint32_t v : {pid, pid}) append(mmap2, v);
    for (const std::uint64_t v : {0x400000, 0x1000, 0x2000}) append(mmap2, v);
    for (const std::uint32_t v : {8, 1}) append(mmap2, v);   // device
    for (const std::uint64_t v : {77, 0}) append(mmap2, v);  // inode
    for (const std::uint32_t v : {5, 2}) append(mmap2, v);   // PROT_READ | PROT_EXEC
    for (const char c : std::string("/bin/sh")) append(mmap2, c);
    append(mmap2, '\0');
    cpu.record(PERF_RECORD_MMAP2, mmap2, PERF_RECORD_MISC_USER);
    for (const std::uint32_t v : {pid, pid}) append(itrace, v);
    cpu.record(PERF_RECORD_ITRACE_START, itrace);
    cpu.trace(psb_group(1));
    cpu.record(PERF_RECORD_SWITCH, {}, PERF_RECORD_MISC_SWITCH_OUT);
    finished();
  };
  kernel.scripts[1] = [finished](FakeCpu& cpu) {
    cpu.record(PERF_RECORD_SWITCH, {});
    cpu.trace(psb_group_and_tsc_packets());  // at once: how it is cut into records is not by chance
    finished();
  };
}

}  // namespace hodo::capture
