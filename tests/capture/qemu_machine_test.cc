#include "vm/qemu_machine.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <nlohmann/json.hpp>
#include <numeric>

#include "fake_qmp.h"

namespace hodo::capture {
namespace {

constexpr std::string_view kRegisters =
    "\r\nCPU#0\r\n"
    "RAX=000000000001ad40 RBX=0000000000000000 RCX=0000000000000001 RDX=4000000000000000\r\n"
    "RIP=ffffffff83e592eb RFL=00000246 [---Z-P-] CPL=0 II=0 A20=1 SMM=0 HLT=1\r\n"
    "CS =0010 0000000000000000 ffffffff 00af9b00 DPL=0 CS64 [-RA]\r\n"
    "IDT=     fffffe0000000000 00000fff\r\n"
    "CR0=80050033 CR2=00000000005ed730 CR3=0000000001104000 CR4=000016f0\r\n"
    "EFER=0000000000000d01\r\n"
    "\r\nCPU#1\r\n"
    "EIP=00000010 EFL=00000002 [-------] CPL=3 II=0 A20=1 SMM=0 HLT=0\r\n"
    "CS =f000 000f0000 0000ffff 00009b00\r\n"
    "IDT=     00000000 000003ff\r\n"
    "CR0=60000010 CR2=00000000 CR3=00000000 CR4=00000000\r\n"
    "EFER=0000000000000000\r\n";

TEST(Registers, AreReadFromTheMonitorsText) {
  const auto processors = parse_registers(kRegisters);
  ASSERT_EQ(processors.size(), 2);
  EXPECT_EQ(processors[0].ip, 0xffff'ffff'83e5'92eb);
  EXPECT_EQ(processors[0].cr0, 0x8005'0033);
  EXPECT_EQ(processors[0].cr3, 0x110'4000);
  EXPECT_EQ(processors[0].idt, 0xffff'fe00'0000'0000);
  EXPECT_TRUE(processors[0].long_mode());
  EXPECT_TRUE(processors[0].paging().five_levels);
  EXPECT_TRUE(processors[0].halted);
  EXPECT_FALSE(processors[0].user);
  EXPECT_EQ(processors[1].ip, 0xf0010);
  EXPECT_FALSE(processors[1].long_mode());
  EXPECT_TRUE(processors[1].user);
}

TEST(Registers, OfAnotherTextAreNone) {
  EXPECT_TRUE(parse_registers("unknown command: 'info registers'\r\n").empty());
  EXPECT_EQ(parse_registers("CPU#0\r\nCR3=\r\nRIP=xyz\r\nCS =").size(), 1);
}

constexpr std::string_view kMap =
    "FlatView #0\r\n AS \"I/O\", root: io\r\n"
    "  0000000000000000-0000000000000007 (prio 0, ram): no-memory\r\n\r\n"
    "FlatView #1\r\n AS \"memory\", root: system\r\n Root memory region: system\r\n"
    "  0000000000000000-00000000000c2fff (prio 0, ram): pc.ram\r\n"
    "  00000000000c3000-00000000000e7fff (prio 0, rom): pc.ram @00000000000c3000\r\n"
    "  0000000000100000-000000000fffffff (prio 0, ram): pc.ram @0000000000100000\r\n"
    "  00000000fec00000-00000000fec00fff (prio 0, i/o): ioapic\r\n"
    "  ffffffffffff0000-ffffffffffffffff (prio 0, ram): too-far\r\n"
    "  00000000fffc0000-00000000 (prio 0, rom): backwards\r\n"
    "FlatView #2\r\n AS \"cpu-smm-0\", root: memory\r\n"
    "  0000000020000000-0000000020000fff (prio 0, ram): of-another-view\r\n";

TEST(MemoryMap, HasMemoryOnly) {
  const auto map = parse_memory_map(kMap);
  ASSERT_EQ(map.size(), 2);
  EXPECT_EQ(map[0].start, 0);
  EXPECT_EQ(map[0].end, 0xe8000);
  EXPECT_EQ(map[1].start, 0x10'0000);
  EXPECT_EQ(map[1].end, 0x1000'0000);
}

// Saves memory in which each 8-byte word holds its own address.
std::string save(const nlohmann::json& arguments) {
  const std::uint64_t start = arguments["val"], size = arguments["size"];
  std::vector<std::uint64_t> words(size / 8);
  for (std::uint64_t i = 0; i < words.size(); ++i) words[i] = start + i * 8;
  const std::string name = arguments["filename"];
  const Fd file(::open(name.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC));
  const bool written = ::write(file.get(), words.data(), size) == static_cast<ssize_t>(size);
  return written ? R"({"return": {}})"
                 : R"({"error": {"class": "GenericError", "desc": "cannot"}})";
}

class QemuMachine : public testing::Test {
 protected:
  QemuMachine() {
    qemu_.otherwise = [this](const std::string& line) {
      const auto question = nlohmann::json::parse(line);
      asked_.push_back(question["execute"]);
      if (asked_.back() != "pmemsave") return std::string(R"({"return": {}})");
      return refuses_ ? kRefusal : save(question["arguments"]);
    };
  }

  static inline const std::string kRefusal =
      R"({"error": {"class": "GenericError", "desc": "cannot open"}})";
  std::vector<std::string> asked_;
  bool refuses_ = false;
  FakeQmp qemu_{"/tmp/hodo-qemu-machine-test-" + std::to_string(::getpid()),
                {{"human-monitor-command", nlohmann::json(kMap).dump()},
                 {"query-status", R"({"running": true})"}}};
};

TEST_F(QemuMachine, ReadsMemoryOverItsPiecesAndNothingElse) {
  auto qmp = Qmp::connect(qemu_.path());
  ASSERT_TRUE(qmp);
  const auto memory = QemuMemory::open(*qmp);
  ASSERT_TRUE(memory) << memory.error().message;
  std::array<std::uint64_t, 4> words{};
  const std::span bytes(reinterpret_cast<std::uint8_t*>(words.data()), sizeof(words));
  constexpr std::uint64_t kAcross = 0x14'0000 - 16;  // a piece's end
  ASSERT_TRUE((*memory)->read(kAcross, bytes));
  EXPECT_EQ(words,
            (std::array<std::uint64_t, 4>{kAcross, kAcross + 8, kAcross + 16, kAcross + 24}));
  EXPECT_FALSE((*memory)->read(0xe8000 - 16, bytes));  // ends in a hole
  EXPECT_FALSE((*memory)->read(0xfec0'0000, bytes));   // device registers
  EXPECT_FALSE((*memory)->error());
}

TEST_F(QemuMachine, SaysWhyItsMemoryCannotBeRead) {
  refuses_ = true;
  auto qmp = Qmp::connect(qemu_.path());
  ASSERT_TRUE(qmp);
  const auto memory = QemuMemory::open(*qmp);
  ASSERT_TRUE(memory);
  std::uint8_t byte = 0;
  EXPECT_FALSE((*memory)->read(0x10'0000, {&byte, 1}));
  ASSERT_TRUE((*memory)->error());
  EXPECT_EQ(
      (*memory)->error()->message,
      qemu_.path() +
          ": QEMU refused pmemsave: cannot open; remedy: be the user that runs QEMU, or root");
}

TEST_F(QemuMachine, GoesOnAfterAPause) {
  auto qmp = Qmp::connect(qemu_.path());
  ASSERT_TRUE(qmp);
  {
    ASSERT_TRUE(Pause::hold(*qmp));
  }
  ASSERT_TRUE(qmp->running());
  EXPECT_EQ(asked_, (std::vector<std::string>{"stop", "cont"}));
}

}  // namespace
}  // namespace hodo::capture
