// What cannot be recorded, and the remedy that is named.
#include "perf_event_fixture.h"

namespace hodo::capture {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Nothing that is refused may run the program, leave a file, or replace an old one.
class RefusalTest : public SourceTest {
 protected:
  RefusalTest() {
    std::ofstream(path("out.data")) << "old";
    options.command = {"touch", path("ran")};
  }
  ~RefusalTest() override {
    EXPECT_FALSE(exists("ran"));
    EXPECT_FALSE(exists("out.data.old"));
    std::ifstream in(path("out.data"));
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), "old");
  }
};

TEST_F(RefusalTest, MissingCommand) {
  options.command = {"no-such-command-anywhere"};
  EXPECT_EQ(refusal().code, ErrorCode::not_found);
}
TEST_F(RefusalTest, CommandThatFailsInExecItself) {
  std::ofstream(path("script")) << "#!/no/such/interpreter\n";
  std::filesystem::permissions(path("script"), std::filesystem::perms::owner_all);
  options.command = {path("script")};
  EXPECT_THAT(refusal().message, HasSubstr("interpreter"));
}
TEST_F(RefusalTest, NoCommand) {
  options.command.clear();
  EXPECT_EQ(refusal().code, ErrorCode::usage);
}
TEST_F(RefusalTest, ProcessesThatAreNotThere) {
  options.command.clear();
  options.pids = {999'999'999};
  EXPECT_EQ(refusal().code, ErrorCode::not_found);
  options.pids = {::getpid()};
  options.threads = {999'999'999};
  EXPECT_EQ(refusal().code, ErrorCode::not_found);
}
TEST_F(RefusalTest, NoPt) {
  std::filesystem::remove_all(system.paths().event_source + "/intel_pt");
  EXPECT_EQ(refusal().code, ErrorCode::unsupported);
}
TEST_F(RefusalTest, OptionsThatTheProcessorLacks) {
  options.pt.mtc_period = 4;
  EXPECT_THAT(refusal().message, HasSubstr("0,3,6,9"));
}
TEST_F(RefusalTest, TooManyFilters) {
  options.filters = std::vector<FilterRange>(3, {"/bin/ls", 0, 1});
  EXPECT_THAT(refusal().message, HasSubstr("2 address filters"));
}
TEST_F(RefusalTest, AFilterThatTheKernelRefuses) {
  options.filters = {{"/bin/ls", 0x1000, 0x20}};
  kernel.refuse_filter = EINVAL;
  EXPECT_THAT(refusal().message, HasSubstr("filter 0x1000/0x20@/bin/ls"));
}
TEST_F(RefusalTest, NoMemoryForBuffersOfTheSizeAskedFor) {
  options.buffer_size = 4096 * kKiB;
  kernel.most_memory = 1024 * kKiB;
  const Error error = refusal();
  EXPECT_EQ(error.code, ErrorCode::not_permitted);
  EXPECT_THAT(error.message, HasSubstr("perf_event_mlock_kb is 516"));
}
TEST_F(RefusalTest, BusyOnTheSecondProcessor) {
  kernel.refuse = [](const FakeKernel::Opened& event) { return event.cpu == 1 ? EBUSY : 0; };
  EXPECT_THAT(refusal().message, HasSubstr("in use"));
}

struct OpenRefusal {
  int reason;
  ErrorCode code;
  const char* words;
};
void PrintTo(const OpenRefusal& refusal, std::ostream* out) {
  *out << std::strerror(refusal.reason);
}

class ProbeTest : public SourceTest, public ::testing::WithParamInterface<OpenRefusal> {};
TEST_P(ProbeTest, TheRefusalNamesTheRemedy) {
  kernel.refuse = [](const FakeKernel::Opened&) { return GetParam().reason; };
  const Status status = probe_perf_event(SourceKind::pt, context);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, GetParam().code);
  EXPECT_THAT(status.error().message, HasSubstr(GetParam().words));
}
INSTANTIATE_TEST_SUITE_P(
    Errno, ProbeTest,
    ::testing::Values(OpenRefusal{EACCES, ErrorCode::not_permitted, "seccomp"},
                      OpenRefusal{EPERM, ErrorCode::not_permitted, "CAP_PERFMON"},
                      OpenRefusal{EBUSY, ErrorCode::io, "in use"},
                      OpenRefusal{ENODEV, ErrorCode::unsupported, "virtual machine"},
                      OpenRefusal{EOPNOTSUPP, ErrorCode::unsupported, "--source qemu"},
                      OpenRefusal{EINVAL, ErrorCode::unsupported, "combination"},
                      OpenRefusal{EMFILE, ErrorCode::io, "ulimit -n"},
                      OpenRefusal{ENOSYS, ErrorCode::unsupported, "without perf events"},
                      OpenRefusal{EIO, ErrorCode::io, "Input/output error"}));

TEST_F(SourceTest, ParanoiaIsNamedWithItsRemedy) {
  system.write("kernel/perf_event_paranoid", "3");
  kernel.refuse = [](const FakeKernel::Opened&) { return EACCES; };
  EXPECT_THAT(probe_perf_event(SourceKind::pt, context).error().message,
              HasSubstr("sysctl kernel.perf_event_paranoid=2"));
}

TEST_F(SourceTest, ProbeOpensOneEventOnItselfAndNothingElse) {
  EXPECT_TRUE(probe_perf_event(SourceKind::pt, context));
  ASSERT_THAT(kernel.opened, SizeIs(1));
  EXPECT_EQ(kernel.opened[0].pid, 0);
  EXPECT_EQ(kernel.opened[0].attr.disabled, 1u);
  EXPECT_THAT(kernel.aux_sizes, IsEmpty());
}

// On the machine that runs the tests: an answer either way, with a reason where it is no.
TEST(ProbeHereTest, GivesAReason) {
  const Status status = probe_perf_event(SourceKind::pt);
  if (!status) {
    EXPECT_GT(status.error().message.size(), 20u);
  }
}

}  // namespace
}  // namespace hodo::capture
