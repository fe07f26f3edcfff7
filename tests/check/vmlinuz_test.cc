#include "vmlinuz.h"

#include <gtest/gtest.h>
#include <lzma.h>

#include <algorithm>
#include <cstring>

namespace hodo::check {
namespace {

// A bzImage of one setup sector beyond the first, with `content` as its payload.
std::vector<std::uint8_t> image_of(const std::vector<std::uint8_t>& content) {
  std::vector<std::uint8_t> payload(lzma_stream_buffer_bound(content.size()));
  std::size_t size = 0;
  EXPECT_EQ(lzma_easy_buffer_encode(0, LZMA_CHECK_CRC32, nullptr, content.data(), content.size(),
                                    payload.data(), &size, payload.size()),
            LZMA_OK);
  payload.resize(size);
  const auto put = [](std::vector<std::uint8_t>& bytes, std::size_t at, auto value) {
    std::memcpy(bytes.data() + at, &value, sizeof(value));
  };
  payload.resize(size + 4);
  put(payload, size, static_cast<std::uint32_t>(content.size()));
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

const std::vector<std::uint8_t> kContent = {0x7f, 'E', 'L', 'F', 1, 2, 3, 4, 5, 6, 7, 8};

TEST(Vmlinuz, IsUnpacked) {
  const auto unpacked = unpack_kernel(image_of(kContent));
  ASSERT_TRUE(unpacked) << unpacked.error().message;
  EXPECT_EQ(*unpacked, kContent);
}

TEST(Vmlinuz, ThatIsUnpackedStaysAsItIs) { EXPECT_EQ(*unpack_kernel(kContent), kContent); }

TEST(Vmlinuz, ThatIsCutIsAnErrorAtEveryLength) {
  const auto whole = image_of(kContent);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(unpack_kernel(std::span(whole).first(size))) << size;
  }
}

TEST(Vmlinuz, ThatIsDamagedIsAnError) {
  const auto whole = image_of(kContent);
  auto damaged = whole;
  damaged[whole.size() - 12] ^= 1;  // in the stream's footer
  EXPECT_EQ(unpack_kernel(damaged).error().code, ErrorCode::malformed);
  damaged = whole;
  damaged[whole.size() - 1] = 0x7f;  // the size
  EXPECT_EQ(unpack_kernel(damaged).error().code, ErrorCode::no_space);
  damaged = whole;
  damaged[2 * 512 + 16] = 0x1f;  // the kind of compression
  EXPECT_EQ(unpack_kernel(damaged).error().code, ErrorCode::unsupported);
}

}  // namespace
}  // namespace hodo::check
