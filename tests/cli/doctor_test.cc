// hodo doctor, on this machine and on a dump of another.
#include <nlohmann/json.hpp>

#include "run_fixture.h"

namespace hodo::cli {
namespace {

const std::string kSkylake = HODO_SOURCE "/tests/hw/processors/skylake.cpuid";

TEST_F(Command, DoctorReportsOnThisMachine) {
  const Ran text = hodo("doctor");
  EXPECT_EQ(text.status, 0) << text.err;
  EXPECT_TRUE(text.out.starts_with("processor  ")) << text.out;
  EXPECT_NE(text.out.find("\nQEMU       "), std::string::npos) << text.out;
  EXPECT_EQ(text.err, "");
  const Ran json = hodo("doctor --json");
  EXPECT_EQ(json.status, 0);
  const auto value = nlohmann::json::parse(json.out);
  for (const char* key : {"pt", "bts", "lbr", "pebs", "btf", "qemu", "registers"}) {
    EXPECT_TRUE(value["means"].contains(key)) << key;
  }
}

TEST_F(Command, DoctorReadsADumpOfAnotherMachine) {
  const Ran ran = hodo("doctor --json --cpuid-dump '" + kSkylake + "'");
  EXPECT_EQ(ran.status, 0) << ran.err;
  const auto value = nlohmann::json::parse(ran.out);
  EXPECT_EQ(value["processor"],
            "Intel(R) Core(TM) i5-6400T CPU @ 2.20GHz (family 6, model 94, stepping 3)");
  EXPECT_EQ(value["means"]["lbr"]["details"]["depth"], "32");
  EXPECT_TRUE(value["kernel"].is_null());
  EXPECT_FALSE(value["means"].contains("qemu"));
}

TEST_F(Command, DoctorNamesWhatItCannotRead) {
  const Ran missing = hodo("doctor --cpuid-dump nothing.txt");
  EXPECT_EQ(missing.status, 2);
  EXPECT_EQ(missing.err, "hodo: nothing.txt: there is no such file, or it cannot be read\n");
  write("decoded.txt", "CPU 0:\n   vendor_id = \"GenuineIntel\"\n");
  const Ran decoded = hodo("doctor --cpuid-dump decoded.txt");
  EXPECT_EQ(decoded.status, 2);
  EXPECT_TRUE(decoded.err.starts_with("hodo: decoded.txt: line 2 is no line of cpuid -r"))
      << decoded.err;
  write("cut.txt",
        "CPU 0:\n   0x0 0x0: eax=0x16 ebx=0x756e6547 ecx=0x6c65746e edx=0x49656e69\n"
        "   0x1 0x0: eax=0x000506e3 ebx=0x0 ecx=0x0 edx=0x00200020\n");
  const Ran cut = hodo("doctor --cpuid-dump cut.txt");
  EXPECT_EQ(cut.status, 2);
  EXPECT_TRUE(cut.err.starts_with("hodo: cut.txt: the dump is not complete")) << cut.err;
  EXPECT_EQ(hodo("doctor surplus").status, 2);
}

}  // namespace
}  // namespace hodo::cli
