#include "qemu/plugin_probe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "hodo/relay/protocol.h"

namespace hodo::capture {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// An emulator that does what a shell script says.
class PluginProbe : public ::testing::Test {
 protected:
  PluginProbe() {
    std::string name = ::testing::TempDir() + "probe.XXXXXX";
    dir_ = ::mkdtemp(name.data());
  }
  ~PluginProbe() override { std::filesystem::remove_all(dir_); }

  Status probe(const std::string& script, const std::string& plugin = "/x/plugin.so") const {
    const std::string path = dir_ + "/qemu-x86_64";
    std::ofstream(path) << "#!/bin/sh\n" << script;
    ::chmod(path.c_str(), 0755);
    return probe_plugin(path, plugin, std::chrono::milliseconds(2000));
  }
  std::string dir_;
};

TEST_F(PluginProbe, HearsTheAnswerBehindOtherWords) {
  EXPECT_TRUE(probe("echo warning: something; echo " + std::string("\"") + relay::kProbeAnswer +
                    "\"; exit 0"));
}

TEST_F(PluginProbe, HandsThePluginOver) {
  const Status ended = probe("printf '%s|' \"$@\"; exit 0", "/a,b/plugin.so");
  ASSERT_FALSE(ended);
  EXPECT_THAT(ended.error().message, HasSubstr("-plugin|/a,,b/plugin.so,probe=on|"));
}

// Debian 13's.
TEST_F(PluginProbe, NamesTheReasonAndTheRemedy) {
  const Status ended = probe("echo \"qemu: unknown option 'plugin'\" >&2; echo more; exit 1");
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().code, ErrorCode::unsupported);
  EXPECT_THAT(ended.error().message, HasSubstr("(qemu: unknown option 'plugin')"));
  EXPECT_THAT(ended.error().message, HasSubstr("; remedy: "));
  EXPECT_THAT(ended.error().message, Not(HasSubstr("more")));
}

TEST_F(PluginProbe, DoesNotBelieveAnExitStatus) { EXPECT_FALSE(probe("exit 0")); }

TEST_F(PluginProbe, DoesNotWaitForEver) {
  const Status ended = probe("exec sleep 60");
  ASSERT_FALSE(ended);
  EXPECT_THAT(ended.error().message, HasSubstr("did not answer"));
}

TEST_F(PluginProbe, HasAnEndOfListening) { EXPECT_FALSE(probe("exec yes 2>/dev/null")); }

TEST_F(PluginProbe, OfAFileThatIsNoProgram) {
  EXPECT_FALSE(probe_plugin(dir_, "/x/plugin.so"));
  EXPECT_FALSE(probe_plugin(dir_ + "/none", "/x/plugin.so"));
}

}  // namespace
}  // namespace hodo::capture
