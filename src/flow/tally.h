// What the remembered paths come to in one decoding: numbers, and how often each edge ran.
//
// It is kept from one decoding to the next, and then only what has changed is added or taken off:
// traces of a program that runs again and again differ in few paths. Where they differ in most,
// all is added up anew.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "hodo/flow/decoder.h"
#include "path.h"
#include "stretch.h"

namespace hodo::flow {

// Packets that were read by what is remembered of them, so many times.
template <class Number>
void count_packets(Stats& stats, const CountsOf<Number>& packets, std::uint64_t times) {
  const auto count = [&](pt::PacketType type, std::uint64_t number, std::uint64_t bytes) {
    stats.packets[static_cast<std::size_t>(type)] += number * times;
    stats.packet_bytes[static_cast<std::size_t>(type)] += bytes * times;
  };
  count(pt::PacketType::pad, packets.pads, packets.pads);
  count(pt::PacketType::tnt, packets.tnts, packets.tnt_bytes);
  count(pt::PacketType::tip, packets.tips, packets.tip_bytes);
  count(pt::PacketType::tip_pge, packets.begins, packets.begin_bytes);
  count(pt::PacketType::tip_pgd, packets.ends, packets.end_bytes);
  stats.tnt_bits += packets.tnt_bits * times;
}

class Tally {
 public:
  // In all of them: a number of times is a difference, and may be less than none (modulo 2^64).

  // `numbers` are those of the path's edges; all are less than `edges`.
  void add(const Path& path, std::span<const std::uint32_t> numbers, std::size_t edges,
           std::uint64_t times);
  void add(const PacketCounts& packets, std::uint64_t times) {
    count_packets(stats_, packets, times);
  }
  // Behind the last add(): `edges` by number.
  void finish(const Branch* edges);
  // As if nothing had been added.
  void start_over();
  // And for other edges.
  void clear() { *this = {}; }

  // Those numbers that follow from paths.
  const Stats& stats() const { return stats_; }
  // Which ran, in no order.
  std::span<const EdgeCount> edges() const { return edges_; }
  // Of each of them, its number.
  std::span<const std::uint32_t> numbers() const { return number_; }

 private:
  void change(std::uint32_t number, const Branch& edge, std::uint64_t times);

  Stats stats_;
  std::vector<EdgeCount> edges_;
  std::vector<std::uint32_t> number_;
  std::vector<std::uint32_t> place_;  // by number: where it is in edges_, + 1; 0: not there
  // Between the first add() and finish(), by number:
  std::vector<std::uint64_t> difference_;
  std::vector<std::uint8_t> seen_;
  std::vector<std::uint32_t> changed_;  // the numbers that were seen
  std::size_t changes_ = 0;             // how many these are
};

}  // namespace hodo::flow
