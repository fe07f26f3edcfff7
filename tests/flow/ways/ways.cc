#include "../ways.h"

#include <algorithm>
#include <utility>

#include "each_way.h"
#include "hodo/flow/slices.h"
#include "hodo/pt/reader.h"
#include "in_rounds.h"

namespace hodo::flow::ways {
namespace {

bool has_several_psbs(std::span<const Piece> pieces) {
  return std::ranges::any_of(pieces, [](const Piece& piece) {
    pt::PacketReader reader(piece.bytes);
    if (!reader.sync_forward()) return false;
    reader.seek(reader.offset() + 1);
    return reader.sync_forward();
  });
}

// With every PSB the beginning of another thread's part.
std::string threads_differ(PieceSource& stream, const image::CodeSource& code, Config config,
                           const Told& expected) {
  config.threads = 3;
  config.thread_bytes = 1;
  Decoder decoder(code, config);
  for (const char* what : {"threads: ", "threads again: "}) {
    Told told;
    told.stats = decoder.decode(stream, told);
    if (const std::string found = difference(told, expected); !found.empty()) return what + found;
  }
  Told unread;
  const std::string counted = difference(decoder.count(stream, unread), expected.stats);
  if (!counted.empty()) return "threads counting: " + counted;
  const std::string written = writing_differs(stream, decoder, expected);
  if (!written.empty()) return "threads " + written;
  if (config.want_not_taken) return "";
  for (const bool exactly : {false, true}) {
    const std::string left = leaving_out_differs(stream, decoder, expected, exactly);
    if (!left.empty()) return "threads " + left;
  }
  const std::string judged = judging_differs(stream, code, decoder, expected);
  if (!judged.empty()) return "threads " + judged;
  const std::string followed = following_differs(stream, decoder, expected);
  if (!followed.empty()) return "threads " + followed;
  const std::string summed = summing_differs(stream, decoder, expected);
  return summed.empty() ? "" : "threads " + summed;
}

// One thread.
std::string decoding_differs(PieceSource& stream, const image::CodeSource& code,
                             const Config& config, const Told& expected) {
  Decoder decoder(code, config);
  for (const char* what : {"first pass: ", "remembering: ", "remembering again: "}) {
    Told told;
    told.stats = decoder.decode(stream, told);
    if (const std::string found = difference(told, expected); !found.empty()) return what + found;
  }
  Told unread;
  const std::string counted = difference(decoder.count(stream, unread), expected.stats);
  if (!counted.empty()) return "counting: " + counted;
  if (!config.want_not_taken) {
    for (const bool exactly : {false, false, true, true}) {
      const std::string left = leaving_out_differs(stream, decoder, expected, exactly);
      if (!left.empty()) return left;
    }
    for (int i = 0; i < 2; ++i) {
      const std::string followed = following_differs(stream, decoder, expected);
      if (!followed.empty()) return followed;
      const std::string summed = summing_differs(stream, decoder, expected);
      if (!summed.empty()) return summed;
    }
    const std::string judged = judging_differs(stream, code, decoder, expected);
    if (!judged.empty()) return judged;
    const std::string counted_again = difference(decoder.count(stream, unread), expected.stats);
    if (!counted_again.empty()) return "counting behind leaving out: " + counted_again;
  }
  Config by_steps = config;
  by_steps.trial_bytes = Config{}.trial_bytes;
  const std::string counted_first =
      difference(Decoder(code, by_steps).count(stream, unread), expected.stats);
  return counted_first.empty() ? "" : "counting first: " + counted_first;
}

// Two streams take turns at every PSB, one of them with more bytes at a time.
std::string slices_differ(PieceSource& stream, PieceSource& same, const image::CodeSource& code,
                          const Config& config, const Told& expected) {
  SharedCode shared(code);
  Told one;
  Told other;
  Slices first(shared, config, stream, one);
  Slices second(shared, config, same, other);
  for (bool more = true; more;) {
    more = first.advance(1);
    more = second.advance(64) || more;
  }
  one.stats = first.stats();
  other.stats = second.stats();
  const std::string found = difference(one, expected);
  return found.empty() ? difference(other, expected) : found;
}

}  // namespace
}  // namespace hodo::flow::ways

namespace hodo::flow {

std::string difference_between_ways(std::span<const Piece> pieces, const image::CodeSource& code,
                                    const Config& config) {
  using namespace ways;
  const Told expected = walk(pieces, code, config);
  Config quick = config;
  quick.want_instructions = false;
  WholeStream whole(pieces);
  Config remembering = quick;
  remembering.trial_bytes = 0;
  const std::string decoded = decoding_differs(whole, code, remembering, expected);
  if (!decoded.empty()) return decoded;
  Config tried = quick;
  tried.trial_bytes = 8;  // now by steps, now by what is remembered
  InRounds rounds(pieces);
  const std::string sliced = slices_differ(whole, rounds, code, quick, expected);
  if (!sliced.empty()) return "slices: " + sliced;
  for (const std::size_t parts : {std::size_t{7}, std::size_t{100}}) {
    const std::string grown = growing_differs(pieces, code, tried, parts);
    if (!grown.empty()) return grown;
  }
  const std::string covered = covering_differs(pieces, code, config);
  if (!covered.empty() || !has_several_psbs(pieces)) return covered;
  const std::string in_rounds = decoding_differs(rounds, code, tried, expected);
  if (!in_rounds.empty()) return "rounds: " + in_rounds;
  const std::string marked = marking_differs(whole, rounds, code, quick);
  if (!marked.empty()) return "rounds: " + marked;
  const std::string part = part_differs(pieces, code, quick, expected);
  if (!part.empty()) return part;
  const std::string threads = threads_differ(whole, code, quick, expected);
  if (!threads.empty()) return threads;
  const std::string both = threads_differ(rounds, code, tried, expected);
  return both.empty() ? "" : "rounds: " + both;
}

}  // namespace hodo::flow
