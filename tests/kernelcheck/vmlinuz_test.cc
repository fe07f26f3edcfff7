#include "vmlinuz.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

namespace hodo::kernelcheck {
namespace {

// kContent as the tools compress it with which the kernel is built (its scripts/Makefile.lib).
struct Packed {
  const char* name;
  const char* hex;
};
constexpr Packed kPacked[] = {
    {"gzip",  // gzip -n -9
     "1f8b0800000000000203ab77f57163646266616563e7c84e2dca4bcd5118a5d0280045428c1324010000"},
    {"bzip2",  // bzip2 -9
     "425a6839314159265359d234a72e000091d5803fc040000304020d1000a00050a69918989881528800c9"
     "93ba574d76df8b88cdad8118117fa4860464450457f177245385090d234a72e0"},
    {"lzma",  // lzma -9
     "5d00000004ffffffffffffffff003f91458468348a0ee7e3edfdd022f7d7c9e7f518cb472aaf1debffff"
     "a9e00000"},
    {"xz",  // xz --check=crc32 --x86 --lzma2=dict=1MiB
     "fd377a585a0000016922de3602010400210110008b216f49e00123001a5d003f91458468348a0ee7e3ed"
     "fdd022f7d7c9e7f518cb4729f7f00000000045428c13000132a402000000a68349a53e300d8b02000000"
     "0001595a"},
    {"lzo",  // lzop -9
     "894c5a4f000d0a1a0a104020a00940030903000009000081a46b036c6300000000016338df0438000001"
     "240000001b8a4e6aa3247f454c4601020304050607086b65726e656c2020f0180011000000000000"},
    {"lz4",  // lz4 -l -9
     "02214c181e000000ff047f454c4601020304050607086b65726e656c200700f950726e656c20"},
    {"zstd",  // zstd --ultra -22
     "28b52ffd642400d50000987f454c4601020304050607086b65726e656c2001001da49630729f9854"},
};

std::vector<std::uint8_t> content() {
  std::vector<std::uint8_t> out = {0x7f, 'E', 'L', 'F', 1, 2, 3, 4, 5, 6, 7, 8};
  for (int i = 0; i < 40; ++i) out.insert(out.end(), {'k', 'e', 'r', 'n', 'e', 'l', ' '});
  return out;
}

std::vector<std::uint8_t> payload_of(const Packed& packed) {
  std::vector<std::uint8_t> out;
  for (const char* at = packed.hex; *at != 0; at += 2) {
    out.push_back(static_cast<std::uint8_t>(std::stoul(std::string(at, 2), nullptr, 16)));
  }
  // Where the format has no size of its own at the end, the kernel's build appends it.
  if (packed.name == std::string("gzip")) return out;
  const auto size = static_cast<std::uint32_t>(content().size());
  for (unsigned i = 0; i < 4; ++i) out.push_back(static_cast<std::uint8_t>(size >> 8 * i));
  return out;
}

// A bzImage of one setup sector beyond the first.
std::vector<std::uint8_t> image_of(const std::vector<std::uint8_t>& payload) {
  const auto put = [](std::vector<std::uint8_t>& bytes, std::size_t at, auto value) {
    std::memcpy(bytes.data() + at, &value, sizeof(value));
  };
  constexpr std::uint32_t kOffset = 16;
  constexpr std::size_t kStart = 2 * 512 + kOffset;
  std::vector<std::uint8_t> image(kStart + payload.size());
  put(image, 0x1f1, std::uint8_t{1});
  put(image, 0x202, std::uint32_t{0x53726448});
  put(image, 0x206, std::uint16_t{0x20f});
  put(image, 0x248, kOffset);
  put(image, 0x24c, static_cast<std::uint32_t>(payload.size()));
  std::ranges::copy(payload, image.begin() + kStart);
  return image;
}

class Vmlinuz : public ::testing::TestWithParam<Packed> {};

TEST_P(Vmlinuz, IsUnpacked) {
  const auto unpacked = unpack_kernel(image_of(payload_of(GetParam())));
  ASSERT_TRUE(unpacked) << unpacked.error().message;
  EXPECT_EQ(*unpacked, content());
}

TEST_P(Vmlinuz, ThatIsCutIsAnErrorAtEveryLength) {
  const auto whole = image_of(payload_of(GetParam()));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(unpack_kernel(std::span(whole).first(size))) << size;
  }
}

TEST_P(Vmlinuz, WhosePayloadIsCutIsAnErrorAtEveryLength) {
  const auto whole = payload_of(GetParam());
  for (std::size_t cut = 0; cut < whole.size(); ++cut) {
    auto payload = whole;  // its last four bytes stay
    payload.erase(payload.end() - 4 - static_cast<std::ptrdiff_t>(std::min(cut, whole.size() - 4)),
                  payload.end() - 4);
    EXPECT_EQ(unpack_kernel(image_of(payload)).has_value(), cut == 0) << cut;
  }
}

TEST_P(Vmlinuz, ThatHoldsMoreOrLessThanItSaysIsAnError) {
  const auto whole = payload_of(GetParam());
  for (const int more : {-1, 1}) {
    auto payload = whole;
    payload[payload.size() - 4] = static_cast<std::uint8_t>(payload[payload.size() - 4] + more);
    EXPECT_EQ(unpack_kernel(image_of(payload)).error().code, ErrorCode::malformed) << more;
  }
  auto huge = whole;
  huge.back() = 0x7f;
  EXPECT_EQ(unpack_kernel(image_of(huge)).error().code, ErrorCode::no_space);
}

// Whatever the bytes are, nothing is written behind the room that there is.
TEST_P(Vmlinuz, ThatIsDamagedAnywhereHarmsNobody) {
  const auto whole = image_of(payload_of(GetParam()));
  for (std::size_t at = 2 * 512; at < whole.size() - 4; ++at) {
    for (const std::uint8_t bits : std::to_array<std::uint8_t>({0x01, 0x80, 0xff})) {
      auto damaged = whole;
      damaged[at] = static_cast<std::uint8_t>(damaged[at] ^ bits);
      const auto unpacked = unpack_kernel(damaged);
      if (unpacked) {
        EXPECT_EQ(unpacked->size(), content().size());
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Each, Vmlinuz, ::testing::ValuesIn(kPacked),
                         [](const auto& each) { return std::string(each.param.name); });

TEST(VmlinuzAtAll, ThatIsUnpackedStaysAsItIs) { EXPECT_EQ(*unpack_kernel(content()), content()); }

TEST(VmlinuzAtAll, InAnUnknownCompressionIsUnsupported) {
  auto payload = payload_of(kPacked[0]);
  payload[0] = 'x';
  EXPECT_EQ(unpack_kernel(image_of(payload)).error().code, ErrorCode::unsupported);
}

}  // namespace
}  // namespace hodo::kernelcheck
