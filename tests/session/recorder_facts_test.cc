// What the recorder wrote about its recording is believed, or missed: never passed over.
#include "facts/recorder_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "hodo/perfdata/writer.h"
#include "hodo/session/session.h"

namespace hodo::session {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// The causes of loss in a recording of nothing with this summary.
std::vector<std::string> causes_with(std::string_view summary) {
  const std::string path = testing::TempDir() + "hodo-facts-" + std::to_string(::getpid());
  auto writer = perfdata::Writer::create(path, {}).value();
  EXPECT_TRUE(writer.finish(summary));
  Options options;
  options.path = path;
  const auto session = Session::open(options).value();
  std::filesystem::remove(path);
  std::vector<std::string> out;
  for (const LossLine& line : session->input_losses()) out.push_back(line.cause);
  return out;
}

TEST(RecorderFacts, TellsWhatTheRecorderKnewToBeMissing) {
  EXPECT_THAT(causes_with("{}"), IsEmpty());
  EXPECT_THAT(causes_with(R"({"unrecorded": ["a program"]})"), ElementsAre("not-recorded"));
  EXPECT_THAT(causes_with(R"({"overwritten": [{"pid": 1, "tid": 2, "offset": 3}]})"),
              ElementsAre("channel-overwritten"));
}

TEST(RecorderFacts, ThatCannotBeReadAreALoss) {
  const std::string large =
      R"({"overwritten": [{}], "large": ")" + std::string(5 << 20, 'x') + "\"}";
  EXPECT_THAT(causes_with(large), ElementsAre("damaged"));
  EXPECT_THAT(causes_with(R"({"overwritten": [{})"), ElementsAre("damaged"));
  EXPECT_THAT(causes_with("[]"), ElementsAre("damaged"));
}

}  // namespace
}  // namespace hodo::session
