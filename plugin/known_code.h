// The code bytes of one address space that have been reported, by page, so that each version is
// reported once.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

namespace hodo::plugin {

class KnownCode {
 public:
  enum class News : std::uint8_t {
    none,     // all of it was known
    fresh,    // some of it was not, and nothing else was known there
    changed,  // something else was known at one of these addresses
  };
  // Marks `bytes` at `address` as known.
  News learn(std::uint64_t address, std::span<const std::uint8_t> bytes);
  struct Piece {
    std::uint64_t address = 0;
    std::span<const std::uint8_t> bytes;  // as long as nothing is learned or forgotten
  };
  // What is known of these addresses, in no order.
  std::vector<Piece> pieces(std::uint64_t address, std::uint64_t size) const;
  // Is any of these bytes known?
  bool overlaps(std::uint64_t address, std::size_t size) const;

  // Nothing is known of these addresses any more.
  void forget(std::uint64_t address, std::uint64_t size);

 private:
  static constexpr std::size_t kPage = 4096;
  struct Page {
    std::array<std::uint8_t, kPage> bytes{};
    std::bitset<kPage> known;
  };
  std::unordered_map<std::uint64_t, std::unique_ptr<Page>> pages_;
};

}  // namespace hodo::plugin
