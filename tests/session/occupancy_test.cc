// Who has a processor when, where its number has had several lives.
#include "stream/occupancy.h"

#include <gtest/gtest.h>

#include "hodo/perfdata/writer.h"
#include "temp_dir.h"

namespace hodo::session {
namespace {

// A recording of processor 0, and what it says.
struct Recorded {
  Recorded() : writer(perfdata::Writer::create(dir.file("data"), options()).value()) {}

  static perfdata::WriterOptions options() {
    perfdata::WriterOptions out;
    out.pt.time = {.shift = 0, .mult = 1, .zero = 0, .valid = true};  // ticks are ns
    return out;
  }
  void born(std::int32_t pid, std::uint64_t time) {
    EXPECT_TRUE(writer.fork({.pid = pid, .ppid = 1, .tid = pid, .ptid = 1, .time = time},
                            {.pid = 1, .tid = 1, .time = time}));
  }
  void runs(std::int32_t pid, std::uint64_t time) {
    EXPECT_TRUE(writer.switch_({.out = false}, {.pid = pid, .tid = pid, .time = time}));
  }
  void ends(std::int32_t pid, std::uint64_t time) {
    EXPECT_TRUE(writer.exit({.pid = pid, .ppid = 1, .tid = pid, .ptid = 1, .time = time},
                            {.pid = pid, .tid = pid, .time = time}));
  }
  // (from, index of the life among those of all processes)
  std::vector<std::pair<std::uint64_t, std::uint32_t>> turns() {
    EXPECT_TRUE(writer.finish(""));
    const perfdata::Reader reader = perfdata::Reader::open(dir.file("data")).value();
    const auto session = perfdata::Model::load(reader).value();
    perfdata::AuxQueue queue;
    queue.cpu = 0;
    std::vector<std::pair<std::uint64_t, std::uint32_t>> out;
    const Occupancy occupancy = occupancy_of(queue, session);
    for (const Occupant& turn : occupancy.turns()) out.emplace_back(turn.from, turn.space);
    return out;
  }

  perfdata::TempDir dir;
  perfdata::Writer writer;
};

using Turns = std::vector<std::pair<std::uint64_t, std::uint32_t>>;

TEST(Occupancy, ASwitchBeginsATurn) {
  Recorded machine;
  machine.born(82, 100);
  machine.born(83, 110);
  machine.runs(82, 120);
  machine.runs(83, 130);
  machine.runs(82, 140);
  EXPECT_EQ(machine.turns(), (Turns{{0, kNoSpace}, {120, 0}, {130, 1}, {140, 0}}));
}

// A virtual machine that starts anew gives the same numbers; between its two lives nobody ran who
// is recorded, so there is no switch.
TEST(Occupancy, ANumberThatIsUsedAgainBeginsATurnWithoutASwitch) {
  Recorded machine;
  machine.born(82, 100);
  machine.runs(82, 120);
  machine.ends(82, 150);
  machine.born(82, 200);
  machine.ends(82, 250);
  machine.born(82, 300);
  machine.runs(83, 310);
  machine.born(82, 400);
  EXPECT_EQ(machine.turns(), (Turns{{0, kNoSpace}, {120, 0}, {200, 1}, {300, 2}, {310, kNoSpace}}));
}

}  // namespace
}  // namespace hodo::session
