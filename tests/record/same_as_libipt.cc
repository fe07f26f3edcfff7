// Decodes every thread of a recording with hodo's decoder and with libipt's instruction decoder,
// and compares all instructions.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <vector>

#include "../flow/libipt_reference.h"
#include "hodo/flow/decoder.h"
#include "hodo/perfdata/model.h"
#include "hodo/perfdata/reader.h"
#include "occupancy.h"
#include "spaces.h"
#include "switched_source.h"

namespace hodo::session {
namespace {

struct Collected : flow::BranchSink {
  std::vector<std::uint64_t> ips;
  std::vector<flow::Loss> losses;
  void on_branches(std::span<const Branch>) override {}
  void on_loss(const flow::Loss& loss) override { losses.push_back(loss); }
  void on_instructions(std::span<const std::uint64_t> batch) override {
    ips.insert(ips.end(), batch.begin(), batch.end());
  }
};

flow::Config config_of(const perfdata::PtConfig& pt) {
  flow::Config config;
  config.mtc_freq = static_cast<std::uint8_t>(pt.mtc_period());
  config.tsc_ctc_numerator = pt.tsc_ctc_n;
  config.tsc_ctc_denominator = pt.tsc_ctc_d;
  config.max_nonturbo_ratio = pt.max_nonturbo_ratio;
  config.want_instructions = true;
  return config;
}

bool same(std::int32_t tid, const Collected& ours, const flow::ReferencePath& theirs) {
  for (const flow::Loss& loss : ours.losses) {
    std::printf("thread %d: hodo lost its way at %#llx: %s\n", tid,
                static_cast<unsigned long long>(loss.offset), loss.reason.c_str());
  }
  for (const auto& error : theirs.errors) {
    std::printf("thread %d: libipt: error %d at %#llx, ip %#llx, behind %zu instructions\n", tid,
                error.code, static_cast<unsigned long long>(error.offset),
                static_cast<unsigned long long>(error.ip), error.at);
  }
  if (!ours.losses.empty() || !theirs.errors.empty()) return false;
  const auto [left, right] = std::ranges::mismatch(ours.ips, theirs.ips);
  if (left == ours.ips.end() && right == theirs.ips.end()) return true;
  std::printf("thread %d: instruction %td of %zu and %zu: %#llx and %#llx\n", tid,
              left - ours.ips.begin(), ours.ips.size(), theirs.ips.size(),
              static_cast<unsigned long long>(left == ours.ips.end() ? 0 : *left),
              static_cast<unsigned long long>(right == theirs.ips.end() ? 0 : *right));
  return false;
}

// 0: all the same; 1: not; 2: the file cannot be read.
int compare(const char* path) {
  auto reader = perfdata::Reader::open(path);
  if (!reader) return std::fprintf(stderr, "%s\n", reader.error().message.c_str()), 2;
  auto model = perfdata::Session::load(*reader);
  if (!model) return std::fprintf(stderr, "%s\n", model.error().message.c_str()), 2;
  Spaces spaces(*model);
  bool good = !model->queues().empty();
  std::size_t instructions = 0;
  for (const perfdata::AuxQueue& queue : model->queues()) {
    std::vector<std::uint8_t> trace;
    for (const perfdata::AuxPiece& piece : queue.pieces) {
      const auto bytes = model->bytes(piece);
      if (!bytes) return std::fprintf(stderr, "%s\n", bytes.error().message.c_str()), 2;
      trace.insert(trace.end(), bytes->begin(), bytes->end());
    }
    const Occupancy occupancy = occupancy_of(queue, *model);
    std::vector<const image::CodeSource*> by_turn;
    for (const Occupant& who : occupancy.turns()) by_turn.push_back(spaces.user(who.space));
    const SwitchedSource code(occupancy, std::move(by_turn), &spaces.kernel());
    Collected ours;
    (void)flow::decode(trace, code, config_of(model->pt()), ours);
    const auto theirs = flow::libipt_path(trace, code, {.follow_time = true});
    good = same(queue.tid, ours, theirs) && good;
    instructions += ours.ips.size();
  }
  std::printf("%zu instructions in %zu threads\n", instructions, model->queues().size());
  return good && instructions != 0 ? 0 : 1;
}

}  // namespace
}  // namespace hodo::session

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s FILE\n", argv[0]);
    return 2;
  }
  return hodo::session::compare(argv[1]);
}
