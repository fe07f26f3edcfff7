// Code made at run time that the recording has no bytes or names of.
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "recording_fixture.h"
#include "run_fixture.h"

namespace hodo::cli {
namespace {

class Bytes {
 public:
  template <class T>
  Bytes& put(T value) {
    text_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  Bytes& text(const std::string& text) {
    text_ += text;
    return *this;
  }
  const std::string& str() const { return text_; }

 private:
  std::string text_;
};

std::string header() {
  return Bytes()
      .put<std::uint32_t>(0x4a695444)
      .put<std::uint32_t>(1)
      .put<std::uint32_t>(40)
      .put<std::uint32_t>(62)
      .put<std::uint32_t>(0)
      .put<std::uint32_t>(42)
      .put<std::uint64_t>(0)
      .put<std::uint64_t>(0)
      .str();
}

std::string load(std::uint64_t time, const std::string& name) {
  std::string code(kCode.begin(), kCode.end());
  std::string body = Bytes()
                         .put<std::uint32_t>(42)
                         .put<std::uint32_t>(42)
                         .put<std::uint64_t>(0x401000)
                         .put<std::uint64_t>(0x401000)
                         .put<std::uint64_t>(code.size())
                         .put<std::uint64_t>(time)
                         .text(name + std::string(1, '\0') + code)
                         .str();
  return Bytes()
      .put<std::uint32_t>(0)
      .put(static_cast<std::uint32_t>(16 + body.size()))
      .put<std::uint64_t>(time)
      .text(body)
      .str();
}

using Jit = Command;

TEST_F(Jit, CodeAndNamesOfAJitdumpByTime) {
  write("jit-42.dump", header() + load(1500, "first") + load(2300, "second"));
  write_recording(at("hodo.data"), {.keep_code = false, .jit_dump = at("jit-42.dump")});
  Ran ran = hodo("branches");
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_NE(ran.out.find("  0.000002000:  call    401000 first+0x0 ([anon]) => 401010 first+0x10"),
            std::string::npos)
      << ran.out;
  EXPECT_NE(ran.out.find("  0.000002500:  call    401000 second+0x0 ([anon])"), std::string::npos)
      << ran.out;
}

TEST_F(Jit, KeptCodeCountsBeforeAJitdump) {
  std::string dump = header() + load(1500, "wrong");
  std::size_t code = dump.find(static_cast<char>(0xe8));
  ASSERT_NE(code, std::string::npos);
  dump.replace(code, 5, 5, '\xc3');
  write("jit-42.dump", dump);
  write_recording(at("kept.data"), {.jit_dump = at("jit-42.dump")});
  Ran ran = hodo("stats --json kept.data");
  EXPECT_EQ(ran.status, 0) << ran.out;
  EXPECT_EQ(nlohmann::json::parse(ran.out)["instructions"], 11);
}

TEST_F(Jit, WithoutThemTheCodeIsMissing) {
  write_recording(at("hodo.data"), {.keep_code = false});
  EXPECT_EQ(hodo("branches").status, 3);
  write("jit-42.dump", "nothing that makes sense");
  write_recording(at("bad.data"), {.keep_code = false, .jit_dump = at("jit-42.dump")});
  EXPECT_EQ(hodo("branches bad.data").status, 3);
}

TEST_F(Jit, NamesOfAPerfMap) {
  std::int32_t pid = getpid();
  std::string map = "/tmp/perf-" + std::to_string(pid) + ".map";
  std::ofstream(map) << "401000 10 outer one\n401010 1 inner\n";
  write_recording(at("hodo.data"), {.threads = {{pid, pid, sample_trace().bytes()}}});
  Ran ran = hodo("branches");
  std::filesystem::remove(map);
  EXPECT_NE(ran.out.find("401000 outer one+0x0 ([anon]) => 401010 inner+0x0 ([anon])"),
            std::string::npos)
      << ran.out;
}

// The guest's process has the number of one of this machine.
TEST_F(Jit, APerfMapOfThisMachineSaysNothingOfAGuest) {
  std::int32_t pid = getpid();
  std::string map = "/tmp/perf-" + std::to_string(pid) + ".map";
  std::ofstream(map) << "401000 10 outer\n";
  FixtureOptions guest{.threads = {{pid, pid, sample_trace().bytes()}}};
  guest.facts = R"({"source":"qemu-system"})";
  write_recording(at("source.data"), guest);
  write_recording(at("path.data"), {.threads = guest.threads, .jit_dump = "guest:/bin/true"});
  for (const char* recording : {"source.data", "path.data"}) {
    EXPECT_EQ(hodo(std::string("branches ") + recording).out.find("outer"), std::string::npos);
  }
  std::filesystem::create_directory(folder_ / "tmp");
  std::filesystem::rename(map, folder_ / "tmp" / ("perf-" + std::to_string(pid) + ".map"));
  for (const char* recording : {"source.data", "path.data"}) {
    Ran ran = hodo(std::string("branches --symfs . ") + recording);
    EXPECT_NE(ran.out.find("outer+0x0"), std::string::npos) << ran.out << ran.err;
  }
}

}  // namespace
}  // namespace hodo::cli
