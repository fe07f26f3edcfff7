#include "hodo/view/packets.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "hodo/base/byte_reader.h"
#include "hodo/hw/bts.h"
#include "hodo/pt/describe.h"
#include "hodo/view/text.h"

namespace hodo::view {
namespace {

constexpr std::size_t kShownBytes = 11;  // all of every packet but PSB

void append_hex_bytes(std::string& out, std::span<const std::uint8_t> bytes) {
  std::size_t shown = std::min(bytes.size(), kShownBytes);
  for (std::uint8_t b : bytes.first(shown)) {
    out += "0123456789abcdef"[b >> 4];
    out += "0123456789abcdef"[b & 15];
  }
  std::size_t columns = 2 * shown;
  if (bytes.size() > shown) {
    out += "..";
    columns += 2;
  }
  out.append(2 * kShownBytes + 4 - columns, ' ');
}

class TextPackets final : public session::PacketSink {
 public:
  TextPackets(Output& out, const Style& style) : out_(out), style_(style) {}

  void queue(std::uint32_t index, const session::Queue& queue) override {
    std::string title =
        fmt::format("queue {}: {}, {} bytes", index, queue_label(queue), grouped(queue.bytes));
    out_.write(style_.paint(Tone::title, title) + "\n");
  }

  bool packet(const session::PacketAt& at) override {
    std::string& line = out_.buffer();
    fmt::format_to(std::back_inserter(line), "{:08x}  ", at.offset);
    append_hex_bytes(line, at.bytes);
    if (at.packet == nullptr) {
      line += style_.paint(Tone::bad, fmt::format("bad: {} bytes skipped, {}",
                                                  grouped(at.bytes.size()), printable(at.error)));
    } else {
      line += pt::to_string(*at.packet);
      if (at.ip != 0) fmt::format_to(std::back_inserter(line), "  ip {:#x}", at.ip);
    }
    line += '\n';
    out_.checkpoint();
    return out_.ok();
  }

  void gap(std::uint64_t bytes) override {
    std::string size = bytes == 0 ? "an unknown number of" : grouped(bytes);
    out_.write(style_.paint(Tone::bad, fmt::format("gap: {} bytes are missing", size)) + "\n");
  }

 private:
  Output& out_;
  Style style_;
};

class JsonPackets final : public session::PacketSink {
 public:
  explicit JsonPackets(Output& out) : out_(out) {}

  void queue(std::uint32_t index, const session::Queue&) override { queue_ = index; }

  bool packet(const session::PacketAt& at) override {
    auto to = std::back_inserter(out_.buffer());
    fmt::format_to(to, R"({{"queue":{},"offset":{},"size":{})", queue_, at.offset, at.bytes.size());
    if (at.packet == nullptr) {
      nlohmann::json error = std::string(at.error);
      fmt::format_to(to, R"(,"type":"bad","error":{})", error.dump(-1, ' ', true));
    } else {
      fmt::format_to(to, R"(,"type":"{}","text":"{}")", name(at.packet->type),
                     pt::to_string(*at.packet));
      if (at.ip != 0) fmt::format_to(to, R"(,"ip":"{:#x}")", at.ip);
      if (at.packet->payload != 0) {
        fmt::format_to(to, R"(,"payload":"{:#x}")", at.packet->payload);
      }
    }
    out_.buffer() += "}\n";
    out_.checkpoint();
    return out_.ok();
  }

  void gap(std::uint64_t bytes) override {
    out_.write(fmt::format("{{\"queue\":{},\"type\":\"gap\",\"missing\":{}}}\n", queue_, bytes));
  }

 private:
  Output& out_;
  std::uint32_t queue_ = 0;
};

class CountPackets final : public session::PacketSink {
 public:
  void queue(std::uint32_t, const session::Queue&) override {}
  bool packet(const session::PacketAt&) override { return true; }
  void gap(std::uint64_t) override {}
};

std::string entry_flags(const perfdata::BranchEntry& entry) {
  std::string out;
  if (entry.mispredicted()) out += " mispredicted";
  if (entry.in_tx()) out += " in_tx";
  if (entry.abort()) out += " abort";
  if (entry.wrong_path()) out += " wrong_path";
  return out;
}

void write_stack_text(const perfdata::Sample& sample, Output& out) {
  auto to = std::back_inserter(out.buffer());
  fmt::format_to(to, "sample {}/{}", sample.id.pid, sample.id.tid);
  if (sample.id.cpu >= 0) fmt::format_to(to, " [{:03}]", sample.id.cpu);
  if (sample.id.time) fmt::format_to(to, " {}", seconds(*sample.id.time));
  fmt::format_to(to, ": branch stack of {}\n", sample.branches.size());
  for (std::size_t i = 0; i < sample.branches.size(); ++i) {
    perfdata::BranchEntry entry = sample.branches[i];
    fmt::format_to(to, "  {:#x} => {:#x}", entry.from, entry.to);
    if (entry.cycles() != 0) fmt::format_to(to, " {} cycles", entry.cycles());
    out.buffer() += entry_flags(entry) + "\n";
  }
  out.checkpoint();
}

void write_stack_json(const perfdata::Sample& sample, Output& out) {
  auto to = std::back_inserter(out.buffer());
  fmt::format_to(to, R"({{"type":"branch_stack","pid":{},"tid":{})", sample.id.pid, sample.id.tid);
  if (sample.id.cpu >= 0) fmt::format_to(to, R"(,"cpu":{})", sample.id.cpu);
  if (sample.id.time) fmt::format_to(to, R"(,"time":{})", *sample.id.time);
  out.buffer() += ",\"branches\":[";
  for (std::size_t i = 0; i < sample.branches.size(); ++i) {
    perfdata::BranchEntry entry = sample.branches[i];
    fmt::format_to(to, R"({}{{"from":"{:#x}","to":"{:#x}","mispredicted":{},"cycles":{}{}}})",
                   i == 0 ? "" : ",", entry.from, entry.to, entry.mispredicted(), entry.cycles(),
                   entry.wrong_path() ? R"(,"wrong_path":true)" : "");
  }
  out.buffer() += "]}\n";
  out.checkpoint();
}

void write_bts_record(std::size_t queue, std::uint64_t offset, const hw::BtsRecord& record,
                      bool json, Output& out) {
  auto to = std::back_inserter(out.buffer());
  if (json) {
    fmt::format_to(to,
                   R"({{"queue":{},"offset":{},"size":{},"type":"BTS","from":"{:#x}","to":"{:#x}",)"
                   R"("predicted":{}}})",
                   queue, offset, sizeof(record), record.from, record.to, record.predicted());
  } else {
    fmt::format_to(to, "{:08x}  {:#x} => {:#x}{}", offset, record.from, record.to,
                   record.predicted() ? "  predicted" : "");
  }
  out.buffer() += '\n';
  out.checkpoint();
}

Result<std::uint64_t> list_bts_piece(const perfdata::Reader& file, std::size_t queue,
                                     const perfdata::AuxPiece& piece, bool json, Output* out) {
  const std::uint64_t step = 32768 * hw::bts_record_bytes(hw::DsLayout::bits64);
  std::uint64_t count = 0;
  std::vector<std::uint8_t> bytes;
  for (std::uint64_t at = 0; at < piece.size && (out == nullptr || out->ok()); at += bytes.size()) {
    bytes.resize(static_cast<std::size_t>(std::min(step, piece.size - at)));
    const Status status = file.read(piece.file_offset + at, bytes);
    if (!status) return std::unexpected(status.error());
    ByteReader in(bytes);
    for (std::uint64_t offset = at; out == nullptr || out->ok(); offset = at + in.offset()) {
      const auto record = hw::read_bts_record(in, hw::DsLayout::bits64);
      if (!record) break;
      if (record->from == 0 && record->to == 0) continue;
      ++count;
      if (out != nullptr) {
        write_bts_record(queue, piece.aux_offset + offset, *record, json, *out);
      }
    }
  }
  return count;
}

}  // namespace

std::string queue_label(const session::Queue& queue) {
  if (queue.cpu >= 0) return fmt::format("cpu {}", queue.cpu);
  if (queue.tid >= 0 && queue.pid >= 0) return fmt::format("thread {}/{}", queue.pid, queue.tid);
  if (queue.tid >= 0) return fmt::format("thread {}", queue.tid);
  return "raw trace";
}

std::unique_ptr<session::PacketSink> make_packet_list(bool json, Output& out, const Style& style) {
  if (json) return std::make_unique<JsonPackets>(out);
  return std::make_unique<TextPackets>(out, style);
}

std::unique_ptr<session::PacketSink> make_packet_counter() {
  return std::make_unique<CountPackets>();
}

std::uint64_t list_branch_stacks(const perfdata::Model& recording, bool json, Output& out) {
  perfdata::BranchStacks stacks(recording.reader());
  std::uint64_t count = 0;
  while (auto sample = stacks.next()) {
    json ? write_stack_json(*sample, out) : write_stack_text(*sample, out);
    ++count;
    if (!out.ok()) break;
  }
  return count;
}

Result<std::uint64_t> list_bts_records(const perfdata::Model& recording, bool json, Output* out) {
  std::uint64_t count = 0;
  for (std::size_t q = 0; q < recording.queues().size(); ++q) {
    const perfdata::AuxQueue& queue = recording.queues()[q];
    if (!json && out != nullptr) {
      out->write(fmt::format("queue {}: {}, {} bytes\n", q,
                             queue_label({queue.pid, queue.tid, queue.cpu, queue.bytes}),
                             grouped(queue.bytes)));
    }
    for (const perfdata::AuxPiece& piece : queue.pieces) {
      auto listed = list_bts_piece(recording.reader(), q, piece, json, out);
      if (!listed) return listed;
      count += *listed;
    }
  }
  return count;
}

}  // namespace hodo::view
