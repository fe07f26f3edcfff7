// How often each of many things was seen, in the order in which they were seen first.
//
// Of a large program there are some hundred thousand, told anew for each stretch of a trace: nearly
// all of the time goes into waiting for memory. So what is added waits for a few others, while what
// has to be looked at for it is fetched.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace hodo::analyze {

// Row has a `count`, and beside it `hash(row)`, `same(a, b)` and `add_up(into, row)` are found. A
// program has few rows, but a trace that somebody made up may have any number: behind the limit new
// ones are only counted as dropped.
template <class Row>
class CountTable {
 public:
  // `limit` is less than 2^32.
  explicit CountTable(std::size_t limit) : limit_(limit), numbers_(kFirstSize) {}

  // Adds rows; when it ends, all of them are in the table. One at a time, and the table must
  // outlive it.
  class Batch {
   public:
    explicit Batch(CountTable& table) : table_(table) {}
    ~Batch() {
      for (std::size_t i = 0; i < kAhead; ++i) next();
    }
    Batch(const Batch&) = delete;
    Batch& operator=(const Batch&) = delete;

    void add(const Row& row) {
      Waiting& place = next();
      place.row = row;
      place.hash = hash(row);
      __builtin_prefetch(&table_.number_at(place.hash));
    }

   private:
    static constexpr std::size_t kAhead = 16;
    struct Waiting {
      std::optional<Row> row;
      std::size_t hash = 0;
    };

    // The oldest goes into the table; its place. Of the one that has waited half as long its number
    // is there.
    Waiting& next() {
      const Waiting& half = waiting_[(at_ + kAhead / 2) % kAhead];
      if (half.row) table_.fetch(half.hash);
      Waiting& oldest = waiting_[at_++ % kAhead];
      if (oldest.row) table_.add(*oldest.row, oldest.hash);
      oldest.row.reset();
      return oldest;
    }

    CountTable& table_;
    std::array<Waiting, kAhead> waiting_;
    std::size_t at_ = 0;
  };

  std::vector<Row> rows() const {
    std::vector<Row> out;
    out.reserve(count_);
    for (std::uint32_t number = 1; number <= count_; ++number) out.push_back(row_of(number));
    return out;
  }
  // What the counts come to of rows that are not there because there were too many.
  std::uint64_t dropped() const { return dropped_; }

 private:
  static constexpr std::size_t kFirstSize = 1 << 12;
  static constexpr std::size_t kRowsLog2 = 12;
  static constexpr std::size_t kRows = std::size_t{1} << kRowsLog2;

  std::uint32_t& number_at(std::size_t hash) { return numbers_[hash & (numbers_.size() - 1)]; }
  void fetch(std::size_t hash) {
    const std::uint32_t number = number_at(hash);
    if (number == 0) return;
    const Row* const row = &row_of(number);
    __builtin_prefetch(row);
    __builtin_prefetch(reinterpret_cast<const char*>(row + 1) - 1);
  }
  const Row& row_of(std::uint32_t number) const {
    return rows_[number >> kRowsLog2][number & (kRows - 1)];
  }
  Row& row_of(std::uint32_t number) { return rows_[number >> kRowsLog2][number & (kRows - 1)]; }
  // The place of the row's number.
  std::uint32_t& slot(const Row& row, std::size_t hash) {
    for (;; ++hash) {
      std::uint32_t& number = number_at(hash);
      if (number == 0 || same(row_of(number), row)) return number;
    }
  }
  void add(const Row& row, std::size_t hash) {
    std::uint32_t& number = slot(row, hash);
    if (number != 0) {
      add_up(row_of(number), row);
      return;
    }
    if (count_ == limit_) {
      dropped_ += row.count;
      return;
    }
    number = append(row);
    if (2 * count_ > numbers_.size()) grow();
  }
  // Its number.
  std::uint32_t append(const Row& row) {
    if (rows_.empty()) rows_.emplace_back().resize(1);  // 0 is none
    if (rows_.back().size() == kRows) rows_.emplace_back().reserve(kRows);
    rows_.back().push_back(row);
    return static_cast<std::uint32_t>(++count_);
  }
  void grow() {
    numbers_.assign(2 * numbers_.size(), 0);
    for (std::uint32_t number = 1; number <= count_; ++number) {
      const Row& row = row_of(number);
      slot(row, hash(row)) = number;
    }
  }

  std::size_t limit_;
  std::uint64_t dropped_ = 0;
  std::size_t count_ = 0;
  std::vector<std::vector<Row>> rows_;  // by number, kRows each
  std::vector<std::uint32_t> numbers_;  // open addressing, size a power of two; 0: free
};

}  // namespace hodo::analyze
