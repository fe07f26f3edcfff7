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
  // From there on a procedure linkage table.
  std::uint64_t stubs = ~std::uint64_t{0};
  session::Place place(std::uint32_t, std::uint64_t address, std::uint64_t) const override {
    const std::uint64_t offset = address - base_;
    return {.symbol = offset < 0x2000 ? "f" : "g",
            .offset = offset & 0xfff,
            .object = path_,
            .stub = offset >= stubs};
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
                                   BranchKind kind, const RebuiltFiles& rebuilt = {}) {
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

TEST(Neutral, leaves_out_the_way_through_the_vdso_but_not_its_calls) {
  const Program vdso(0x400000, "[vdso]");
  EXPECT_FALSE(token(vdso, 0x401000, 0x401010, BranchKind::cond));
  EXPECT_EQ(token(vdso, 0x401010, 0, BranchKind::ret), token(vdso, 0x401030, 0, BranchKind::ret));
  EXPECT_TRUE(token(vdso, 0x401000, 0x402000, BranchKind::call));
}

TEST(Neutral, compares_another_build_by_what_functions_call) {
  const Program here(0x400000);
  const RebuiltFiles rebuilt{{"prog", {}}};
  EXPECT_FALSE(token(here, 0x401000, 0x401010, BranchKind::cond, rebuilt));
  const auto call = token(here, 0x401000, 0x402000, BranchKind::call, rebuilt);
  EXPECT_TRUE(call);
  EXPECT_EQ(call, token(here, 0x401004, 0x402000, BranchKind::call, rebuilt));
  EXPECT_NE(call, token(here, 0x402004, 0x401000, BranchKind::call, rebuilt));
}

TEST(Neutral, takes_calls_and_jumps_of_another_build_for_the_same) {
  const Program here(0x400000);
  const RebuiltFiles rebuilt{{"prog", {}}};
  for (const std::uint64_t to : {0x402000U, 0x500000U}) {
    const auto call = token(here, 0x401000, to, BranchKind::call, rebuilt);
    EXPECT_TRUE(call);
    EXPECT_EQ(call, token(here, 0x401000, to, BranchKind::jmp, rebuilt));
    EXPECT_EQ(call, token(here, 0x401000, to, BranchKind::ijmp, rebuilt));
    EXPECT_EQ(call, token(here, 0x401000, to, BranchKind::icall, rebuilt));
    EXPECT_NE(call, token(here, 0x401000, to, BranchKind::jmp));
  }
}

TEST(Neutral, takes_the_call_of_a_stub_for_that_of_what_it_leads_to) {
  Program here(0x400000);
  here.stubs = 0x2000;
  const RebuiltFiles rebuilt{{"prog", {.alike = {"g"}}}};
  EXPECT_TRUE(token(here, 0x401000, 0x402000, BranchKind::call, rebuilt));
  EXPECT_FALSE(token(here, 0x402000, 0x500000, BranchKind::ijmp, rebuilt));
  EXPECT_TRUE(token(here, 0x402000, 0x500000, BranchKind::ijmp));
}

TEST(Neutral, leaves_out_the_loader_where_it_loads_another_build) {
  const Program loader(0x400000, "/lib64/ld-linux-x86-64.so.2");
  const RebuiltFiles rebuilt{{"prog", {}}};
  EXPECT_TRUE(token(loader, 0x401000, 0x401010, BranchKind::cond));
  EXPECT_FALSE(token(loader, 0x401000, 0x401010, BranchKind::cond, rebuilt));
  EXPECT_FALSE(token(loader, 0x401000, 0x402000, BranchKind::call, rebuilt));
  EXPECT_FALSE(token(loader, 0x401000, 0, BranchKind::syscall, rebuilt));
  EXPECT_FALSE(token(loader, 0, 0x401002, BranchKind::begin, rebuilt));
  EXPECT_TRUE(token(loader, 0x401000, 0x500000, BranchKind::icall, rebuilt));
  EXPECT_TRUE(token(loader, 0x401000, 0, BranchKind::end, rebuilt));
}

TEST(Neutral, compares_functions_of_another_build_that_are_laid_out_alike_by_place) {
  const Program here(0x400000);
  const RebuiltFiles rebuilt{{"prog", {.alike = {"f"}}}};
  const auto taken = token(here, 0x401000, 0x401010, BranchKind::cond, rebuilt);
  EXPECT_TRUE(taken);
  EXPECT_NE(taken, token(here, 0x401000, 0x401014, BranchKind::cond, rebuilt));
  EXPECT_NE(token(here, 0x401000, 0x402000, BranchKind::call, rebuilt),
            token(here, 0x401004, 0x402000, BranchKind::call, rebuilt));
  EXPECT_FALSE(token(here, 0x402000, 0x402010, BranchKind::cond, rebuilt));
}

TEST(Neutral, leaves_out_calls_of_what_the_other_build_has_inlined) {
  const Program here(0x400000);
  const RebuiltFiles rebuilt{{"prog", {.single = {"g"}}}};
  EXPECT_FALSE(token(here, 0x401000, 0x402000, BranchKind::call, rebuilt));
  EXPECT_FALSE(token(here, 0x402010, 0x401004, BranchKind::ret, rebuilt));
  EXPECT_TRUE(token(here, 0x402010, 0x401000, BranchKind::call, rebuilt));
  EXPECT_TRUE(token(here, 0x401010, 0x402014, BranchKind::ret, rebuilt));
}

TEST(Neutral, knows_parts_and_copies_of_a_function_by_its_name) {
  EXPECT_EQ(base_name("f.part.0"), "f");
  EXPECT_EQ(base_name("f.constprop.0.isra.0"), "f");
  EXPECT_EQ(base_name("f"), "f");
  EXPECT_EQ(base_name(".text"), ".text");
  EXPECT_EQ(base_name("main.work"), "main.work");
  EXPECT_EQ(base_name("main.work.func1.cold"), "main.work.func1");
  EXPECT_EQ(base_name("n::f(char const*, ...)"), "n::f(char const*, ...)");
  EXPECT_EQ(base_name("n::f(int) [clone .part.0] [clone .cold]"), "n::f(int)");
}

TEST(Neutral, leaves_out_what_goes_by_addresses) {
  for (const char* name :
       {"memcpy", "__memmove_evex_unaligned_erms", "__GI___strlen_sse2", "strcasecmp_l_avx2",
        "__stpcpy_evex", "memmove-vec-unaligned-erms.S", "__wcschr_evex", "_dlfo_sort_mappings"}) {
    EXPECT_TRUE(depends_on_addresses("libc.so.6", name)) << name;
    EXPECT_FALSE(depends_on_addresses("prog", name)) << name;
  }
  EXPECT_TRUE(depends_on_addresses("[vdso]", ""));
  for (const char* name : {"strtol", "strdup", "memalign", "strerror", "qsort", "", "_"}) {
    EXPECT_FALSE(depends_on_addresses("libc.so.6", name)) << name;
  }
}

TEST(Neutral, finds_what_goes_by_addresses_by_its_text) {
  const auto looks = [](std::vector<std::uint8_t> code) {
    return looks_at_addresses(code, 0x1000, isa::Mode::bits64);
  };
  // As strlen begins: and rcx, 0xfff; cmp rcx, 0xfcf; ja.
  const std::vector<std::uint8_t> begins = {0x48, 0x81, 0xe1, 0xff, 0x0f, 0x00, 0x00, 0x48, 0x81,
                                            0xf9, 0xcf, 0x0f, 0x00, 0x00, 0x77, 0x01, 0xc3, 0xc3};
  EXPECT_TRUE(looks(begins));
  EXPECT_TRUE(looks({0x48, 0x83, 0xe0, 0xf0, 0xc3}));   // and rax, -16; ret
  EXPECT_FALSE(looks({0x83, 0xe0, 0x07, 0xc3}));        // and eax, 7: flags
  EXPECT_FALSE(looks({0x31, 0xc0, 0xc3}));              // xor eax, eax; ret
  EXPECT_FALSE(looks({0x48, 0x83, 0xe4, 0xf0, 0xc3}));  // and rsp, -16: a frame
  std::vector<std::uint8_t> calls = begins;
  calls.insert(calls.end(), {0xe8, 0, 0, 0, 0});
  EXPECT_FALSE(looks(calls));
  EXPECT_FALSE(looks({0x48, 0x83, 0xe0, 0xf0, 0x06}));  // and then none
  EXPECT_FALSE(looks({}));
}

}  // namespace
}  // namespace hodo::ask
