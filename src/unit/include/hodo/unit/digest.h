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

// Of a stream of bytes that is written in pieces of up to eight and read in others. Its words go
// to four lanes in turn, each with a key of its own: a processor works at several at a time, where
// one lane would have each step wait for the one before.
class StreamDigest {
 public:
  constexpr explicit StreamDigest(std::uint64_t key = 0) {
    for (std::uint64_t i = 0; i < kLanes; ++i) {
      lanes_[i] = digest_word(key, i + 0x243f'6a88'85a3'08d3);
      sum_ += lanes_[i];
    }
  }

  // The next `bytes` (1 to 8), which `value` has in little-endian order under zeros.
  [[gnu::always_inline]] constexpr void add(std::uint64_t value, unsigned bytes) {
    const std::uint64_t word = part_ | value << bits_;
    const std::uint64_t carry = value >> 1 >> (63 - bits_);
    const unsigned end = bits_ + 8 * bytes;
    const std::uint64_t whole = 0 - std::uint64_t{end >> 6};  // all ones: the word is full
    std::uint64_t& lane = lanes_[next_];
    const std::uint64_t step = (digest_word(lane, word) - lane) & whole;
    lane += step;
    sum_ += step;
    next_ = (next_ + (whole & 1)) % kLanes;
    part_ = word ^ ((word ^ carry) & whole);
    bits_ = end & 63;
  }
  void add(const std::uint8_t* bytes, std::size_t size) {
    constexpr std::size_t kRound = 8 * kLanes;
    for (; size != 0 && bits_ != 0; --size) add(*bytes++, 1);
    while (size >= 8) {
      const std::size_t rounds = next_ == 0 ? size / kRound : 0;
      if (rounds != 0) {
        add_rounds(bytes, rounds);
      } else {
        add(word_at(bytes), 8);
      }
      const std::size_t done = rounds != 0 ? rounds * kRound : 8;
      bytes += done;
      size -= done;
    }
    for (; size != 0; --size) add(*bytes++, 1);
  }

  // Of all so far. Zeros count: a stream and the same with a zero behind it differ.
  constexpr std::uint64_t value() const {
    return sum_ + part_ + std::uint64_t{bits_} * 0x2545'f491'4f6c'dd1d;
  }

 private:
  static constexpr std::uint64_t kLanes = 4;

  static std::uint64_t word_at(const std::uint8_t* bytes) {
    std::uint64_t word = 0;
    __builtin_memcpy(&word, bytes, 8);
    return word;
  }
  void add_rounds(const std::uint8_t* bytes, std::size_t rounds) {
    std::uint64_t a = lanes_[0], b = lanes_[1], c = lanes_[2], d = lanes_[3];
    for (; rounds != 0; --rounds, bytes += 8 * kLanes) {
      a = digest_word(a, word_at(bytes));
      b = digest_word(b, word_at(bytes + 8));
      c = digest_word(c, word_at(bytes + 16));
      d = digest_word(d, word_at(bytes + 24));
    }
    lanes_[0] = a, lanes_[1] = b, lanes_[2] = c, lanes_[3] = d;
    sum_ = a + b + c + d;
  }

  std::uint64_t lanes_[kLanes] = {};  // of whole words
  std::uint64_t sum_ = 0;             // of the lanes
  std::uint64_t next_ = 0;            // the lane of the next word
  std::uint64_t part_ = 0;            // the bytes of a word that is not whole
  unsigned bits_ = 0;                 // of them
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
