// Recordings of which some bytes were changed after they were written: what was changed is left out
// and told of, and nothing of it becomes a branch.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <tuple>

#include "../cli/recording_fixture.h"
#include "hodo/perfdata/model.h"
#include "hodo/perfdata/sums.h"
#include "hodo/session/parts.h"
#include "hodo/session/session.h"
#include "pt/pt_session.h"
#include "pt/queue_stream.h"

namespace hodo::session {
namespace {

constexpr std::uint64_t kBlock = perfdata::BlockSums::kBlock;

struct Listed final : BranchSink, PacketSink {
  std::vector<Branch> branches_;
  bool branches(const Context&, std::span<const Branch> batch) override {
    branches_.insert(branches_.end(), batch.begin(), batch.end());
    return true;
  }
  void queue(std::uint32_t, const Queue&) override {}
  bool packet(const PacketAt&) override { return true; }
  void gap(std::uint64_t) override {}
};

bool same(std::span<const Branch> some, std::span<const Branch> others) {
  const auto parts = [](const Branch& branch) {
    return std::tuple(branch.from, branch.to, branch.kind, branch.flags, branch.insns, branch.time);
  };
  return std::ranges::equal(some, others, {}, parts, parts);
}

std::uint64_t found(const Outcome& outcome, std::string_view cause) {
  const auto line = std::ranges::find(outcome.losses, cause, &LossLine::cause);
  return line == outcome.losses.end() ? 0 : line->count;
}

class AlteredRecording : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "hodo-altered-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    options_.path = folder_ / "input";
    std::vector<std::uint8_t> trace;
    for (std::uint64_t time = 2000; trace.size() < 4 * kBlock; time += 1000) {
      const auto one = cli::sample_trace(time).bytes();
      trace.insert(trace.end(), one.begin(), one.end());
    }
    cli::FixtureOptions how;
    how.threads = {{42, 42, trace}};
    cli::write_recording(options_.path, how);
    std::ifstream in(options_.path, std::ios::binary);
    file_.assign(std::istreambuf_iterator<char>(in), {});
    const auto reader = perfdata::Reader::open(options_.path);
    piece_ = perfdata::Model::load(*reader)->queues().at(0).pieces.at(0);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // Decodes the file with one bit changed in each of these blocks.
  Outcome without(const std::vector<std::uint64_t>& blocks, Listed& sink) const {
    std::vector<char> copy = file_;
    for (const std::uint64_t block : blocks) copy[piece_.file_offset + block * kBlock + 100] ^= 4;
    std::ofstream(options_.path, std::ios::binary)
        .write(copy.data(), static_cast<std::streamsize>(copy.size()));
    auto opened = Session::open(options_);
    EXPECT_TRUE(opened.has_value()) << opened.error().message;
    auto packets = (*opened)->packets({}, sink);
    EXPECT_TRUE(packets.has_value());
    EXPECT_EQ(found(*packets, "altered"), blocks.empty() ? 0u : 1u) << "told of by hodo packets";
    auto outcome = (*opened)->decode({}, sink);
    EXPECT_TRUE(outcome.has_value()) << outcome.error().message;
    return outcome.value_or(Outcome{});
  }

  std::filesystem::path folder_;
  Options options_;
  std::vector<char> file_;
  perfdata::AuxPiece piece_;
};

// The blocks of the trace: 0, 1, 2, 3 and a short rest.
TEST_F(AlteredRecording, WhatWasChangedIsALossAndNoBranch) {
  Listed whole;
  EXPECT_EQ(without({}, whole).losses.size(), 0u);
  const std::uint64_t end = piece_.size / kBlock;
  const std::vector<std::vector<std::uint64_t>> ways{{0}, {1}, {1, 2}, {end - 1}};
  for (const auto& blocks : ways) {
    Listed part;
    const Outcome outcome = without(blocks, part);
    EXPECT_EQ(found(outcome, "altered"), 1u) << blocks.front();
    EXPECT_LT(part.branches_.size(), whole.branches_.size());
    EXPECT_GT(part.branches_.size(), whole.branches_.size() / 3);
    for (const Branch& branch : part.branches_) {
      if (branch.kind == BranchKind::lost || (branch.flags & kResync) != 0) continue;
      EXPECT_TRUE(std::ranges::any_of(whole.branches_,
                                      [&](const Branch& other) {
                                        return other.from == branch.from && other.to == branch.to &&
                                               other.kind == branch.kind;
                                      }))
          << std::hex << branch.from;
    }
  }
}

// A little of it at a time, as of a long trace: a block that was changed ends the piece before it.
TEST_F(AlteredRecording, ALittleAtATimeItIsTheSame) {
  const auto offsets_and_sizes = [](PtSession& session, std::uint64_t round) {
    std::vector<std::tuple<std::uint64_t, std::uint64_t, std::uint64_t, bool>> out;
    QueueStream stream(session, 0, round);
    flow::PieceWalk walk(stream);
    using enum flow::PieceWalk::Next;
    for (auto next = walk.next(); next != nothing; next = walk.next()) {
      EXPECT_NE(next, breaks);
      const flow::Piece& piece = walk.piece();
      if (next == begins)
        out.emplace_back(piece.offset, 0, piece.lost_before, piece.altered_before);
      std::get<1>(out.back()) += walk.limit();
      if (walk.limit() < piece.bytes.size()) {
        walk.pause(walk.limit());
      } else {
        walk.end();
      }
    }
    return out;
  };
  for (const auto& blocks : std::vector<std::vector<std::uint64_t>>{{0}, {1, 2}, {3}, {}}) {
    Listed sink;
    static_cast<void>(without(blocks, sink));
    auto file = OpenedFile::open(options_.path);
    ASSERT_TRUE(file.has_value());
    PtSession session(std::move(*file));
    const auto whole = offsets_and_sizes(session, QueueStream::kRound);
    EXPECT_EQ(whole.size(), blocks.empty() ? 1u : 2u);
    for (const std::uint64_t round : {500u, 3000u, 5000u}) {
      EXPECT_EQ(offsets_and_sizes(session, round), whole) << round;
    }
  }
}

// A part of it, as an index asks for: from checkpoints on, the same branches and losses.
TEST_F(AlteredRecording, PartsOfItAreWithoutWhatWasChanged) {
  struct Marked final : CheckpointSink {
    std::vector<std::uint64_t> counts_;
    std::vector<flow::Checkpoint> checkpoints_;
    std::uint64_t count_ = 0;
    bool branches(const Context&, std::span<const Branch> batch) override {
      count_ += batch.size();
      return true;
    }
    void checkpoint(const Context&, const flow::Checkpoint& at) override {
      counts_.push_back(count_);
      checkpoints_.push_back(at);
    }
  };
  for (const auto& blocks : std::vector<std::vector<std::uint64_t>>{{0}, {1, 2}, {3}}) {
    Listed whole;
    static_cast<void>(without(blocks, whole));
    auto opened = Session::open(options_);
    ASSERT_TRUE(opened.has_value());
    Parts* parts = parts_of(**opened);
    ASSERT_NE(parts, nullptr);
    Marked marked;
    ASSERT_TRUE(parts->decode_marked({}, 1000, marked).has_value());
    ASSERT_EQ(marked.count_, whole.branches_.size());
    ASSERT_GE(marked.checkpoints_.size(), 2u);
    for (std::size_t i = 0; i < marked.checkpoints_.size(); ++i) {
      Listed part;
      StreamPart asked{.queue = 0, .from = marked.checkpoints_[i]};
      ASSERT_TRUE(parts->decode_part(asked, {}, part).has_value());
      const std::span rest = std::span(whole.branches_).subspan(marked.counts_[i]);
      EXPECT_TRUE(same(part.branches_, rest)) << blocks[0] << " from " << i;
    }
    Listed all;
    ASSERT_TRUE(parts->decode_part({.queue = 0}, {}, all).has_value());
    EXPECT_TRUE(same(all.branches_, whole.branches_)) << blocks[0];
  }
}

// Nothing is left of it.
TEST_F(AlteredRecording, AWholeTraceThatWasChangedIsALossToo) {
  std::vector<std::uint64_t> all;
  for (std::uint64_t block = 0; block * kBlock + 100 < piece_.size; ++block) all.push_back(block);
  Listed nothing;
  const Outcome outcome = without(all, nothing);
  EXPECT_EQ(found(outcome, "altered"), 1u);
  for (const Branch& branch : nothing.branches_) EXPECT_EQ(branch.kind, BranchKind::lost);
}

}  // namespace
}  // namespace hodo::session
