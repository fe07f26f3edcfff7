// Digests of what a trace unit has written, for a reader who does not believe the memory that lies
// between them: the writer computes them from what it writes and keeps them where it alone writes,
// the reader from what it finds. Both begin with a key that both know. Whole registers only, no
// library: also for code that may use neither vectors nor libc.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hodo::unit {

__extension__ typedef unsigned __int128 Product;

// One step. What two words do to a digest depends on what it was, which nobody knows who does not
// know the key: no change of one word can be planned to undo that of another.
constexpr std::uint64_t digest_word(std::uint64_t digest, std::uint64_t word) {
  const Product product = Product{digest ^ word} * 0x9e37'79b9'7f4a'7c15;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

// Of a stream of bytes that is written in pieces of up to eight and read in others.
class StreamDigest {
 public:
  constexpr explicit StreamDigest(std::uint64_t key = 0) : words_(key) {}

  // The next `bytes` (1 to 8), which `value` has in little-endian order under zeros.
  [[gnu::always_inline]] constexpr void add(std::uint64_t value, unsigned bytes) {
    const std::uint64_t word = part_ | value << bits_;
    const std::uint64_t carry = value >> 1 >> (63 - bits_);
    const unsigned end = bits_ + 8 * bytes;
    const std::uint64_t whole = 0 - std::uint64_t{end >> 6};  // all ones: the word is full
    words_ ^= (words_ ^ digest_word(words_, word)) & whole;
    part_ = word ^ ((word ^ carry) & whole);
    bits_ = end & 63;
  }
  void add(const std::uint8_t* bytes, std::size_t size) {
    for (; size != 0 && bits_ != 0; --size) add(*bytes++, 1);
    for (; size >= 8; size -= 8, bytes += 8) {
      std::uint64_t word = 0;
      __builtin_memcpy(&word, bytes, 8);
      words_ = digest_word(words_, word);
    }
    for (; size != 0; --size) add(*bytes++, 1);
  }

  // Of all so far. Zeros count: a stream and the same with a zero behind it differ.
  constexpr std::uint64_t value() const {
    return words_ + part_ + std::uint64_t{bits_} * 0x2545'f491'4f6c'dd1d;
  }

 private:
  std::uint64_t words_;     // of whole words
  std::uint64_t part_ = 0;  // the bytes of the one that is not
  unsigned bits_ = 0;       // of them
};

// Of BTS records: a sum in which each counts with its place, so that no record waits for the digest
// of those before it.
class RecordDigest {
 public:
  constexpr explicit RecordDigest(std::uint64_t key = 0)
      : weight_(digest_word(key, 0x243f'6a88'85a3'08d3) | 1),
        mask_(digest_word(key, 0x1319'8a2e'0370'7344)),
        sum_(digest_word(key, 0xa409'3822'299f'31d0)) {}

  // `place` is different for each record.
  [[gnu::always_inline]] constexpr void add(std::uint64_t place, std::uint64_t from,
                                            std::uint64_t to, std::uint64_t flags,
                                            std::uint64_t wanted = 1) {
    const Product product =
        Product{from ^ (place + mask_) * weight_} * ((to + flags * weight_) ^ mask_);
    const std::uint64_t one =
        static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
    sum_ += one & (0 - wanted);
  }
  constexpr std::uint64_t value() const { return sum_; }

 private:
  std::uint64_t weight_;
  std::uint64_t mask_;
  std::uint64_t sum_;
};

}  // namespace hodo::unit
