// Decodes every thread of a recording with hodo's decoder and with libipt's instruction decoder,
// and compares all instructions.
#include <intel-pt.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <memory>
#include <vector>

#include "../flow/libipt_reference.h"
#include "code/spaces.h"
#include "hodo/flow/decoder.h"
#include "hodo/perfdata/model.h"
#include "hodo/perfdata/reader.h"
#include "pt/switched_source.h"
#include "stream/occupancy.h"

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

// What libipt's packet reader finds in a stream that begins with a PSB, by the names of `hodo
// stats`.
struct PacketCount {
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
};
using PacketCounts = std::map<std::string, PacketCount>;

std::string name_of(const pt_packet& packet) {
  static const std::map<int, std::string> kNames{
      {ppt_pad, "PAD"},         {ppt_psb, "PSB"},   {ppt_psbend, "PSBEND"},
      {ppt_fup, "FUP"},         {ppt_tip, "TIP"},   {ppt_tip_pge, "TIP.PGE"},
      {ppt_tip_pgd, "TIP.PGD"}, {ppt_tnt_8, "TNT"}, {ppt_tnt_64, "TNT"},
      {ppt_cbr, "CBR"},         {ppt_tsc, "TSC"},   {ppt_tma, "TMA"},
      {ppt_mtc, "MTC"},         {ppt_cyc, "CYC"},   {ppt_ovf, "OVF"},
      {ppt_stop, "TraceStop"},  {ppt_pip, "PIP"},   {ppt_vmcs, "VMCS"}};
  if (packet.type == ppt_mode) {
    return packet.payload.mode.leaf == pt_mol_exec ? "MODE.Exec" : "MODE.TSX";
  }
  auto it = kNames.find(packet.type);
  return it == kNames.end() ? "other" : it->second;
}

// False if libipt cannot read to the end.
bool count_packets(std::vector<std::uint8_t>& trace, PacketCounts& counts) {
  pt_config config{};
  pt_config_init(&config);
  config.begin = trace.data();
  config.end = trace.data() + trace.size();
  pt_packet_decoder* decoder = pt_pkt_alloc_decoder(&config);
  if (decoder == nullptr) return false;
  int status = pt_pkt_sync_forward(decoder);
  while (status >= 0) {
    pt_packet packet{};
    status = pt_pkt_next(decoder, &packet, sizeof packet);
    if (status < 0) break;
    PacketCount& count = counts[name_of(packet)];
    ++count.count;
    count.bytes += packet.size;
  }
  pt_pkt_free_decoder(decoder);
  return status == -pte_eos;
}

void print_counts(const std::array<std::uint64_t, 16>& classes, const PacketCounts& packets) {
  std::printf(
      "counts {\"cond\": %llu, \"call\": %llu, \"ret\": %llu, \"jump\": %llu, \"far\": %llu",
      static_cast<unsigned long long>(classes[ptic_cond_jump]),
      static_cast<unsigned long long>(classes[ptic_call]),
      static_cast<unsigned long long>(classes[ptic_return]),
      static_cast<unsigned long long>(classes[ptic_jump]),
      static_cast<unsigned long long>(classes[ptic_far_call] + classes[ptic_far_return] +
                                      classes[ptic_far_jump]));
  std::printf(", \"packets\": {");
  const char* comma = "";
  for (const auto& [name, count] : packets) {
    std::printf("%s\"%s\": {\"count\": %llu, \"bytes\": %llu}", comma, name.c_str(),
                static_cast<unsigned long long>(count.count),
                static_cast<unsigned long long>(count.bytes));
    comma = ", ";
  }
  std::printf("}}\n");
}

// 0: all the same; 1: not; 2: the file cannot be read.
int compare(const char* path) {
  auto reader = perfdata::Reader::open(path);
  if (!reader) return std::fprintf(stderr, "%s\n", reader.error().message.c_str()), 2;
  auto model = perfdata::Model::load(*reader);
  if (!model) return std::fprintf(stderr, "%s\n", model.error().message.c_str()), 2;
  Spaces spaces(*model);
  bool good = !model->queues().empty();
  std::size_t instructions = 0;
  std::array<std::uint64_t, 16> classes{};
  PacketCounts packets;
  for (const perfdata::AuxQueue& queue : model->queues()) {
    std::vector<std::uint8_t> trace;
    for (const perfdata::AuxPiece& piece : queue.pieces) {
      const std::size_t end = trace.size();
      trace.resize(end + piece.size);
      const Status status = reader->read(piece.file_offset, std::span(trace).subspan(end));
      if (!status) return std::fprintf(stderr, "%s\n", status.error().message.c_str()), 2;
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
    for (std::size_t i = 0; i < classes.size(); ++i) classes[i] += theirs.classes[i];
    good = count_packets(trace, packets) && good;
  }
  std::printf("%zu instructions in %zu threads\n", instructions, model->queues().size());
  print_counts(classes, packets);
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
