// Every instruction of the C library, against binutils' own disassembler: the same lengths, kinds
// and targets. Bytes that objdump calls bad are not compared, since text sections may hold data.
#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <gtest/gtest.h>

#include <charconv>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "hodo/isa/insn.h"

namespace hodo::isa {
namespace {

struct Line {
  std::uint64_t address = 0;
  std::vector<std::uint8_t> bytes;
  std::vector<std::string> words;  // prefixes, mnemonic, operands
};

// "  29d90:\t0f 84 9a 00 00 00    \tje     29e30 <f+0x10>"
std::optional<Line> parse(const std::string& text) {
  const auto colon = text.find(":\t");
  const auto tab = text.find('\t', colon == std::string::npos ? colon : colon + 2);
  if (tab == std::string::npos) return std::nullopt;
  Line line;
  line.address = std::stoull(text, nullptr, 16);
  std::istringstream bytes(text.substr(colon + 2, tab - colon - 2));
  for (std::string b; bytes >> b;) {
    line.bytes.push_back(static_cast<std::uint8_t>(std::stoul(b, nullptr, 16)));
  }
  std::istringstream words(text.substr(tab + 1));
  for (std::string w; words >> w;) line.words.push_back(w);
  return line;
}

bool is_prefix(const std::string& word) {
  static const char* const kPrefixes[] = {
      "bnd", "notrack", "rep", "repz", "repnz", "lock", "data16",   "addr32",
      "cs",  "ds",      "es",  "ss",   "fs",    "gs",   "xacquire", "xrelease"};
  for (const auto* p : kPrefixes) {
    if (word == p) return true;
  }
  return word.starts_with("rex");
}

InsnClass expected_class(const std::string& mnemonic, bool indirect) {
  static const std::map<std::string, InsnClass> kNamed = {
      {"ret", InsnClass::ret},         {"lret", InsnClass::far_ret},
      {"syscall", InsnClass::syscall}, {"sysenter", InsnClass::syscall},
      {"sysret", InsnClass::sysret},   {"sysretl", InsnClass::sysret},
      {"int", InsnClass::int_},        {"int3", InsnClass::int_},
      {"into", InsnClass::int_},       {"iret", InsnClass::iret},
      {"xbegin", InsnClass::xbegin},   {"xabort", InsnClass::xabort},
      {"ljmp", InsnClass::far_jmp},    {"lcall", InsnClass::far_call},
  };
  if (const auto it = kNamed.find(mnemonic); it != kNamed.end()) return it->second;
  if (mnemonic == "jmp") return indirect ? InsnClass::ijmp : InsnClass::jmp;
  if (mnemonic == "call") return indirect ? InsnClass::icall : InsnClass::call;
  if (mnemonic.starts_with("j") || mnemonic.starts_with("loop")) return InsnClass::cond;
  return InsnClass::other;
}

struct Tally {
  int instructions = 0;
  int branches = 0;
};

void compare(const Line& line, Mode mode, Tally& tally) {
  std::size_t word = 0;
  while (word < line.words.size() && is_prefix(line.words[word])) ++word;
  // A prefix alone on its line is objdump's way of saying that it belongs to nothing.
  if (word == line.words.size() || line.words[word] == "(bad)") return;
  const auto mnemonic = line.words[word].substr(0, line.words[word].find(','));
  const std::string operand = word + 1 < line.words.size() ? line.words[word + 1] : "";
  const auto cls = expected_class(mnemonic, operand.starts_with("*"));
  const auto insn = decode(line.bytes, line.address, mode);
  ASSERT_TRUE(insn) << mnemonic;
  EXPECT_EQ(insn->length, line.bytes.size()) << mnemonic;
  EXPECT_EQ(static_cast<int>(insn->cls), static_cast<int>(cls)) << mnemonic << ' ' << operand;
  if (has_direct_target(cls)) {
    std::uint64_t target = 0;
    std::from_chars(operand.data(), operand.data() + operand.size(), target, 16);
    EXPECT_EQ(insn->target, target) << mnemonic << ' ' << operand;
  }
  ++tally.instructions;
  tally.branches += is_branch(cls);
}

Tally compare_file(const std::string& path, Mode mode) {
  Tally tally;
  const std::string command = "objdump -d -w '" + path + "' 2>/dev/null";
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  if (!pipe) return tally;
  char text[1024];
  while (std::fgets(text, sizeof text, pipe.get()) != nullptr) {
    const auto line = parse(text);
    if (!line) continue;
    SCOPED_TRACE(text);
    compare(*line, mode, tally);
    if (testing::Test::HasFailure()) break;  // one divergence says it all
  }
  return tally;
}

void expect_agreement(const std::string& path, Mode mode) {
  if (std::system("objdump --version >/dev/null 2>&1") != 0) GTEST_SKIP() << "no objdump here";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no " << path << " here";
  const Tally tally = compare_file(path, mode);
  EXPECT_GT(tally.instructions, 100000) << "objdump printed something this test cannot read";
  EXPECT_GT(tally.branches, 20000);
  testing::Test::RecordProperty("instructions", tally.instructions);
}

TEST(AgainstObjdump, TheCLibrary) {
  // Any function of it will do that AddressSanitizer does not put its own in place of.
  Dl_info info{};
  ASSERT_NE(dladdr(reinterpret_cast<const void*>(&gnu_get_libc_version), &info), 0);
  expect_agreement(info.dli_fname, Mode::bits64);
}

TEST(AgainstObjdump, The32BitCLibrary) { expect_agreement("/lib32/libc.so.6", Mode::bits32); }

}  // namespace
}  // namespace hodo::isa
