// The same packets and code, decoded by perf: the branches must be the same, line by line.
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <regex>

#include "fixture.h"
#include "hodo/perfdata/writer.h"

namespace hodo::flow {
namespace {

using pt::PacketType;

struct Case {
  const char* name;
  Code code;
  Trace trace;
};

// Begins as perf needs it: with a time, so that the code is mapped before it runs.
Trace at(std::optional<std::uint64_t> ip = {}) { return Trace().psb(ip, Trace::kExec64, 2000); }

std::vector<Case> path_cases() {
  const Code calls = Code()
                         .at(0x1000)
                         .call(0x2000)
                         .jz(0x1000)
                         .at(0x2000)
                         .call(0x3000)
                         .nop()
                         .ret()
                         .at(0x3000)
                         .ret();
  const Code straight = Code().at(0x1000).nop().nop().nop().jz(0x1000);
  return {
      {"tnt", Code().at(0x1000).nop().jz(0x1000).jz(0x1000), at(0x1000).tnt("TTNT")},
      {"long tnt", Code().at(0x1000).jz(0x1000), at(0x1000).tnt(std::string(47, 'T'))},
      {"compressed returns", calls, at(0x1000).tnt("TTT")},
      {"uncompressed return", calls, at(0x1000).tip(0x2006).tnt("TT")},
      {"call to next", Code().at(0x1000).call(0x2000).jz(0x1000).at(0x2000).call(0x2005).ret(),
       at(0x1000).tnt("TT")},
      {"indirect", Code().at(0x1000).ijmp().at(0x2000).icall().at(0x7fff00003000).ret(),
       at(0x1000).tip(0x2000).tip(0x7fff00003000).tip(0x1000)},
      {"direct", Code().at(0x1000).jmp(0x2000).at(0x2000).call(0x3000).at(0x3000).jz(0x1000),
       at(0x1000).tnt("T")},
      {"deferred tip", Code().at(0x1000).jz(0x1100).at(0x1100).ijmp().at(0x2000).jz(0x1000),
       at(0x1000).tnt("TT").tip(0x2000).tnt("T").tip(0x2000)},
      {"system call", Code().at(0x1000).nop().syscall().jz(0x1000),
       at().pge(0x1000).pgd().pge(0x1002).pgd()},
      {"signal", straight, at(0x1000).fup(0x1001).pgd().pge(0x1002).tnt("T")},
      {"interrupt", Code().at(0x1000).nop().nop().jz(0x1000).at(0x2000).nop().iret(),
       at(0x1000).fup(0x1001).tip(0x2000).tip(0x1001).tnt("T")},
      {"interrupt at once", Code().at(0x1000).jz(0x1000).at(0x2000).iret(),
       at(0x1000).fup(0x1000).tip(0x2000).tip(0x1000).tnt("T")},
      {"asynchronous end with ip", straight, at(0x1000).fup(0x1001).pgd(0x9000)},
      {"indirect end with ip", Code().at(0x1000).nop().ret(), at(0x1000).pgd(0x9000)},
      {"psb in the middle", Code().at(0x1000).jmp(0x2000).at(0x2000).nop().jz(0x1000),
       at(0x1000).psb(0x2001, Trace::kExec64, 3000).tnt("T")},
      {"psb at a call", calls, at(0x1000).psb(0x3000, Trace::kExec64, 3000).tip(0x2005)},
      {"psb while off", Code().at(0x1000).syscall().jz(0x1000),
       at(0x1000).pgd().psb({}, Trace::kExec64, 3000).pge(0x1002).tnt("T")},
      {"fup before pge", straight, at(0x1000).pge(0x1000).tnt("T")},
      {"overflow while on",
       Code().at(0x1000).nop().nop().nop().jz(0x1000).at(0x7fff00000000).ijmp(),
       at(0x1000).tnt("T").ovf().fup(0x7fff00000000).tip(0x1000)},
      {"overflow while off", straight, at(0x1000).tnt("T").ovf().pge(0x1000).tnt("T")},
      {"transaction", Code().at(0x1000).nop().jz(0x1000).at(0x1200).jz(0x1000),
       at(0x1000)
           .plain(PacketType::mode_tsx, 1)
           .fup(0x1001)
           .tnt("T")
           .plain(PacketType::mode_tsx, 2)
           .fup(0x1001)
           .tip(0x1200)
           .tnt("T")},
      {"ptwrite", Code().at(0x1000).nop().ptwrite().jz(0x1000),
       at(0x1000).plain(PacketType::ptw, 7, 1, 8).fup(0x1001).tnt("T")},
      {"mode.exec with fup", straight,
       at(0x1000).plain(PacketType::mode_exec, pt::kExecCsL | pt::kExecIf).fup(0x1001).tnt("T")},
      {"exception with cfe", straight,
       at(0x1000).plain(PacketType::cfe, 1, 14u << 8).fup(0x1001).tip(0x1000).tnt("T")},
      {"cfe with a fup of its own", straight,
       at(0x1000).plain(PacketType::cfe, 2, 1).fup(0x1001).tnt("T")},
      {"far", Code().at(0x1000).far_ret().at(0x2000).int3().at(0x3000).iret(),
       at(0x1000).tip(0x2000).tip(0x3000).tip(0x1000)},
      {"end of data behind a decision", Code().at(0x1000).jz(0x1010).at(0x1010).jmp(0x2000),
       at(0x1000).tnt("T")},
  };
}

// What perf prints of a branch; empty if nothing (see decoder.h).
std::string perf_line(const Branch& branch) {
  const bool unseen = (branch.flags & (kNotTaken | kResync)) != 0 ||
                      (branch.kind == BranchKind::lost && branch.to == 0);
  if (unseen) return {};
  char line[64];
  const std::uint64_t from = branch.kind == BranchKind::lost ? 0 : branch.from;
  std::snprintf(line, sizeof line, "%llx %llx", static_cast<unsigned long long>(from),
                static_cast<unsigned long long>(branch.to));
  return line;
}

std::vector<std::string> our_lines(const Case& test) {
  std::vector<std::string> out;
  for (const Branch& branch : decode(test.code, test.trace).branches) {
    if (std::string line = perf_line(branch); !line.empty()) out.push_back(std::move(line));
  }
  return out;
}

// Each case as a process of its own, in one recording.
class PerfScript : public testing::Test {
 protected:
  void SetUp() override {
    if (::access("/usr/bin/perf", X_OK) != 0) GTEST_SKIP() << "perf is not installed";
    std::string name = std::filesystem::temp_directory_path() / "hodo-flow-XXXXXX";
    folder_ = ::mkdtemp(name.data());
  }
  void TearDown() override {
    if (!folder_.empty()) std::filesystem::remove_all(folder_);
  }

  static Status write(perfdata::Writer& writer, const Case& test, std::int32_t pid) {
    const perfdata::Stamp begin{pid, pid, 1000, 0};
    const perfdata::Stamp end{pid, pid, 100000, 0};
    // Whole words, padded: Writer takes the pieces of a stream.
    std::vector<std::uint8_t> bytes = test.trace.bytes();
    bytes.resize((bytes.size() + 7) / 8 * 8);
    const std::span<const std::uint8_t> packets(bytes);
    perfdata::Auxtrace where;
    where.idx = static_cast<std::uint32_t>(pid);
    where.tid = pid;
    Status status = writer.comm({pid, pid, "case", true}, begin);
    for (const auto& mapping : test.code.mappings()) {
      if (status) status = writer.code(mapping.address, mapping.bytes, begin);
    }
    if (status) status = writer.itrace_start({pid, pid}, begin);
    if (status) status = writer.aux({0, bytes.size(), 0}, end);
    if (status) status = writer.auxtrace(where, {&packets, 1});
    return status;
  }

  // Lines by process.
  std::map<int, std::vector<std::string>> script(const std::string& path) {
    const std::string command = "HOME=" + folder_ + " /usr/bin/perf script -i " + path +
                                " --itrace=b -F tid,ip,addr 2>/dev/null </dev/null";
    std::map<int, std::vector<std::string>> out;
    FILE* pipe = ::popen(command.c_str(), "r");
    if (pipe == nullptr) return out;
    const std::regex line(R"(\s*(\d+) +([0-9a-f]+) .*=> +([0-9a-f]+).*\n)");
    std::array<char, 4096> buffer;
    while (std::fgets(buffer.data(), buffer.size(), pipe) != nullptr) {
      std::cmatch match;
      if (!std::regex_match(buffer.data(), match, line)) continue;
      out[std::stoi(match[1])].push_back(match[2].str() + " " + match[3].str());
    }
    EXPECT_EQ(::pclose(pipe), 0);
    return out;
  }

  std::string folder_;
};

TEST_F(PerfScript, PrintsTheSameBranches) {
  const std::vector<Case> cases = path_cases();
  const std::string path = folder_ + "/perf.data";
  perfdata::WriterOptions options;
  options.cmdline = {"hodo"};
  options.version = "hodoscope test";
  auto writer = perfdata::Writer::create(path, options);
  ASSERT_TRUE(writer) << writer.error().message;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    ASSERT_TRUE(write(*writer, cases[i], 100 + static_cast<int>(i)));
  }
  ASSERT_TRUE(writer->finish("{}"));
  auto lines = script(path);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    EXPECT_EQ(our_lines(cases[i]), lines[100 + static_cast<int>(i)]) << cases[i].name;
  }
}

}  // namespace
}  // namespace hodo::flow
