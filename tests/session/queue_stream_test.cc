#include "pt/queue_stream.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <tuple>

#include "bare_session.h"
#include "pt/decoding.h"
#include "pt/queue_bytes.h"

namespace hodo::session {
namespace {

using Bytes = std::vector<std::uint8_t>;

// What a reader of a stream hears of a piece of it, or of what goes on of one.
struct Heard {
  std::uint64_t offset = 0;
  std::uint64_t lost_before = 0;
  bool altered_before = false;
  Bytes bytes;
  bool operator==(const Heard&) const = default;
};

Heard heard(const flow::Piece& piece) {
  return {piece.offset,
          piece.lost_before,
          piece.altered_before,
          {piece.bytes.begin(), piece.bytes.end()}};
}

// By a reader who pauses wherever it can. `most`: the longest that was there at once.
std::vector<Heard> walk(flow::PieceSource& stream, std::size_t& most) {
  using enum flow::PieceWalk::Next;
  std::vector<Heard> out;
  flow::PieceWalk walk(stream);
  for (auto next = walk.next(); next != nothing; next = walk.next()) {
    if (next == breaks) continue;
    const flow::Piece& piece = walk.piece();
    most = std::max(most, piece.bytes.size());
    const auto here = piece.bytes.first(walk.limit());
    if (next == begins) {
      out.push_back(heard(piece));
      out.back().bytes.clear();
    }
    Bytes& bytes = out.back().bytes;
    EXPECT_EQ(piece.offset, out.back().offset + bytes.size());
    bytes.insert(bytes.end(), here.begin(), here.end());
    if (here.size() < piece.bytes.size()) {
      walk.pause(here.size());
    } else {
      walk.end();
    }
  }
  return out;
}

// A queue whose parts lie in `file`, of which a reader may take the last bytes away.
class Queued final : public DecodingSession<BareSession> {
 public:
  Queued(Bytes file, std::vector<Part> parts) : file_(std::move(file)), parts_(std::move(parts)) {}
  std::unique_ptr<TraceReader> trace_of(std::size_t, StreamRange range) override {
    return std::make_unique<PlainTrace>(
        within(parts_, range), [this](std::uint64_t offset, std::span<std::uint8_t> out) -> Status {
          if (offset > file_.size() || out.size() > file_.size() - offset) {
            return fail(ErrorCode::truncated, "shorter", offset);
          }
          std::copy_n(file_.begin() + static_cast<std::ptrdiff_t>(offset), out.size(), out.begin());
          return {};
        });
  }
  Occupancy occupancy(std::size_t) override { return Occupancy({{.pid = 1, .tid = 1}}); }
  std::unique_ptr<image::CodeSource> code(std::size_t, const Occupancy&) override { return {}; }
  flow::Config config(std::size_t, const Occupancy&) override { return {}; }
  std::optional<Explanation> explain(const Context&, const flow::Loss&) override { return {}; }

  Bytes file_;
  std::vector<Part> parts_;
};

// With a PSB at every so many bytes, or none.
Bytes trace(std::size_t size, std::size_t psb_every) {
  Bytes out(size);
  for (std::size_t i = 0; i < size; ++i) out[i] = static_cast<std::uint8_t>(i * 7 >> 3 | 1);
  for (std::size_t at = 5; psb_every != 0 && at + 16 <= size; at += psb_every) {
    for (std::size_t i = 0; i < 16; ++i) out[at + i] = i % 2 == 0 ? 0x02 : 0x82;
  }
  return out;
}

std::vector<Heard> whole(Queued& queue) {
  auto bytes = QueueBytes::make(*queue.trace_of(0, {}));
  EXPECT_TRUE(bytes.has_value());
  std::vector<Heard> out;
  for (const flow::Piece& piece : bytes->pieces()) out.push_back(heard(piece));
  return out;
}

// Parts   |aaaa|bb|   gap   |cccccc|e|, and an empty one behind a gap
TEST(QueueStream, TheSamePiecesAFewBytesAtATime) {
  const Bytes file = trace(100'000, 300);
  Queued queue(file, {{.file_offset = 10, .size = 30'000, .offset = 500},
                      {.file_offset = 30'010, .size = 20'000, .offset = 30'500},
                      {.file_offset = 50'010,
                       .size = 40'000,
                       .offset = 60'000,
                       .gap_before = true,
                       .lost_before = 9'500},
                      {.file_offset = 90'010, .size = 1, .offset = 100'000},
                      {.offset = 110'000, .gap_before = true, .lost_before = 9'999}});
  for (const std::uint64_t round : {1u, 999u, 5'000u, 50'001u}) {
    QueueStream stream(queue, 0, round);
    EXPECT_EQ(stream.extent().begin, 500u);
    EXPECT_EQ(stream.extent().first_end, 50'500u);
    EXPECT_EQ(stream.extent().end, 110'000u);
    std::size_t most = 0;
    EXPECT_EQ(walk(stream, most), whole(queue)) << round;
    EXPECT_LE(most, std::max<std::uint64_t>(round, 12'000)) << "not much more than the gap";
    EXPECT_TRUE(stream.status().has_value());
  }
}

TEST(QueueStream, WithoutPsbsAllComesAtOnce) {
  Queued queue(trace(100'000, 0), {{.size = 100'000}});
  QueueStream stream(queue, 0, 1'000);
  std::size_t most = 0;
  EXPECT_EQ(walk(stream, most), whole(queue));
  EXPECT_EQ(most, 100'000u);
}

TEST(QueueStream, ItEndsWhereTheFileDoes) {
  Queued queue(trace(50'000, 300), {{.size = 50'001}});
  QueueStream stream(queue, 0, 5'000);
  std::size_t most = 0;
  const std::vector<Heard> told = walk(stream, most);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_GT(told[0].bytes.size(), 40'000u);
  ASSERT_FALSE(stream.status().has_value());
  EXPECT_EQ(stream.status().error().message, "shorter");
}

TEST(QueueStream, NothingIsNoPiece) {
  Queued queue({}, {});
  QueueStream stream(queue, 0);
  std::size_t most = 0;
  EXPECT_TRUE(walk(stream, most).empty());
}

}  // namespace
}  // namespace hodo::session
