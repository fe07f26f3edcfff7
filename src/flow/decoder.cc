#include "hodo/flow/decoder.h"

#include <numeric>

#include "block_cache.h"
#include "output.h"
#include "path_decoder.h"

namespace hodo::flow {
namespace {

template <std::size_t N>
void add(std::array<std::uint64_t, N>& to, const std::array<std::uint64_t, N>& from) {
  for (std::size_t i = 0; i < N; ++i) to[i] += from[i];
}

}  // namespace

std::uint64_t Stats::total_losses() const {
  return std::accumulate(losses.begin(), losses.end(), std::uint64_t{0});
}

Stats& Stats::operator+=(const Stats& other) {
  bytes += other.bytes;
  skipped_bytes += other.skipped_bytes;
  instructions += other.instructions;
  not_taken += other.not_taken;
  tnt_bits += other.tnt_bits;
  add(branches, other.branches);
  add(packets, other.packets);
  add(packet_bytes, other.packet_bytes);
  add(events, other.events);
  add(losses, other.losses);
  return *this;
}

Stats decode(std::span<const Piece> pieces, const image::CodeSource& code, const Config& config,
             BranchSink& sink) {
  BlockCache blocks(code);
  Output out(config, sink);
  PathDecoder decoder(blocks, config, out);
  for (std::size_t i = 0; i < pieces.size(); ++i) decoder.decode(pieces[i], i > 0);
  out.finish();
  return out.stats();
}

Stats decode(std::span<const std::uint8_t> trace, const image::CodeSource& code,
             const Config& config, BranchSink& sink) {
  const Piece piece{.bytes = trace};
  return decode(std::span(&piece, 1), code, config, sink);
}

}  // namespace hodo::flow
