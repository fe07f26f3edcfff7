// The table of symbols in a Linux kernel's image, made for tests.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace hodo::guest {

// As scripts/kallsyms.c writes them: tokens for single characters, and "ab" as token 1.
enum class TableOrder { old, with_sequence, offsets_last };

class KallsymsTable {
 public:
  KallsymsTable& add(char type, std::string name, std::int64_t offset) {
    symbols_.push_back({type + name, static_cast<std::int32_t>(offset)});
    return *this;
  }
  // Enough of them for a second marker.
  KallsymsTable& fill(unsigned count) {
    for (unsigned i = 0; i < count; ++i) add('t', "f" + std::to_string(i), -1 - 16 * i);
    return *this;
  }

  // The first 4 KiB are for code, all 0xcc. Addresses are as if the image lay at kAddress; an
  // offset of -1 - N is for N behind it.
  static constexpr std::uint64_t kAddress = 0xffff'ffff'8100'0000;
  std::vector<std::uint8_t> write(TableOrder order) {
    image_.assign(4096, 0xcc);
    if (order != TableOrder::offsets_last) put_offsets();
    put<std::uint64_t>(symbols_.size());
    put_names();
    if (order != TableOrder::old) image_.resize(image_.size() + 3 * symbols_.size(), 1), align();
    put_tokens();
    if (order == TableOrder::offsets_last) put_offsets();
    image_.resize(image_.size() + 512, 0xcc);
    return image_;
  }

 private:
  void align() { image_.resize((image_.size() + 7) / 8 * 8); }
  template <class T>
  void put(T value) {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(&value);
    image_.insert(image_.end(), bytes, bytes + sizeof(value));
  }
  void put_offsets() {
    for (const auto& [name, offset] : symbols_) put(offset);
    align();
    put(kAddress);
  }
  void put_names() {
    std::vector<std::uint32_t> markers;
    const std::size_t start = image_.size();
    for (std::size_t i = 0; i < symbols_.size(); ++i) {
      if (i % 256 == 0) markers.push_back(static_cast<std::uint32_t>(image_.size() - start));
      std::string codes = symbols_[i].first;
      if (const auto pair = codes.find("ab"); pair != codes.npos) codes.replace(pair, 2, "\x01");
      if (codes.size() > 127) {
        put(static_cast<std::uint8_t>(0x80 | (codes.size() & 0x7f)));
        put(static_cast<std::uint8_t>(codes.size() >> 7));
      } else {
        put(static_cast<std::uint8_t>(codes.size()));
      }
      image_.insert(image_.end(), codes.begin(), codes.end());
    }
    align();
    for (const std::uint32_t marker : markers) put(marker);
    align();
  }
  void put_tokens() {
    std::vector<std::uint16_t> index;
    const std::size_t start = image_.size();
    for (unsigned i = 0; i < 256; ++i) {
      index.push_back(static_cast<std::uint16_t>(image_.size() - start));
      if (i == 1) put('a'), put('b');
      if (i >= 32 && i < 127) put(static_cast<char>(i));
      put('\0');
    }
    align();
    for (const std::uint16_t offset : index) put(offset);
    align();
  }

  std::vector<std::pair<std::string, std::int32_t>> symbols_;
  std::vector<std::uint8_t> image_;
};

}  // namespace hodo::guest
