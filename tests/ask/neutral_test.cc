#include "neutral.h"

#include <gtest/gtest.h>

namespace hodo::ask {
namespace {

// A program of 64 KiB, mapped at `base`, with f at 0x1000 and g at 0x2000 in it, and memory in no
// file behind it.
class Program : public session::Names {
 public:
  explicit Program(std::uint64_t base, std::string path = "/bin/prog")
      : base_(base), path_(std::move(path)) {}
  session::Place place(std::uint32_t, std::uint64_t address, std::uint64_t) const override {
    const std::uint64_t offset = address - base_;
    return {.symbol = offset < 0x2000 ? "f" : "g", .offset = offset & 0xfff, .object = path_};
  }
  session::Object object(std::uint32_t, std::uint64_t address, std::uint64_t) const override {
    if (address - base_ >= 0x10000) return {.path = "//anon", .offset = address};
    return {.path = path_, .offset = address - base_};
  }
  std::uint32_t generation(std::uint32_t, std::uint64_t) const override { return 0; }

 private:
  std::uint64_t base_;
  std::string path_;
};

std::optional<std::uint64_t> token(const Program& program, std::uint64_t from, std::uint64_t to,
                                   BranchKind kind, const std::set<std::string>& rebuilt = {}) {
  Neutral neutral(program, rebuilt);
  return neutral.token(0, {.from = from, .to = to, .kind = kind});
}

TEST(Neutral, does_not_know_where_a_file_is_mapped) {
  const Program here(0x400000);
  const Program there(0x7f0000000000);
  const auto kind = BranchKind::cond;
  const auto token_here = token(here, 0x401000, 0x401010, kind);
  EXPECT_EQ(token_here, token(there, 0x7f0000001000, 0x7f0000001010, kind));
  EXPECT_NE(token_here, token(there, 0x7f0000001001, 0x7f0000001010, kind));
  EXPECT_NE(token_here, token(there, 0x7f0000001000, 0x7f0000001011, kind));
  EXPECT_NE(token_here, token(there, 0x7f0000001000, 0x7f0000001010, BranchKind::jmp));
}

TEST(Neutral, takes_memory_without_a_file_for_one_place) {
  const Program here(0x400000);
  EXPECT_EQ(token(here, 0x401000, 0x500000, BranchKind::icall),
            token(here, 0x401000, 0x600000, BranchKind::icall));
}

TEST(Neutral, compares_another_build_by_its_functions) {
  const Program here(0x400000);
  const std::set<std::string> rebuilt{"prog"};
  EXPECT_FALSE(token(here, 0x401000, 0x401010, BranchKind::cond, rebuilt));
  EXPECT_EQ(token(here, 0x401000, 0x402000, BranchKind::call, rebuilt),
            token(here, 0x401004, 0x402000, BranchKind::call, rebuilt));
  EXPECT_TRUE(token(here, 0x401000, 0x402000, BranchKind::jmp, rebuilt));
}

TEST(Neutral, leaves_out_what_goes_by_addresses) {
  for (const char* name : {"memcpy", "__memmove_evex_unaligned_erms", "__GI___strlen_sse2",
                           "strcasecmp_l_avx2", "__stpcpy_evex", "memmove-vec-unaligned-erms.S"}) {
    EXPECT_TRUE(depends_on_addresses("libc.so.6", name)) << name;
    EXPECT_FALSE(depends_on_addresses("prog", name)) << name;
  }
  for (const char* name : {"strtol", "strdup", "memalign", "strerror", "qsort", "", "_"}) {
    EXPECT_FALSE(depends_on_addresses("libc.so.6", name)) << name;
  }
}

}  // namespace
}  // namespace hodo::ask
