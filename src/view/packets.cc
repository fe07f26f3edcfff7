#include "hodo/view/packets.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

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

std::string entry_flags(const session::StackEntry& entry) {
  std::string out;
  if (entry.mispredicted) out += " mispredicted";
  if (entry.in_tx) out += " in_tx";
  if (entry.abort) out += " abort";
  if (entry.wrong_path) out += " wrong_path";
  return out;
}

class TextRecords final : public session::RecordSink {
 public:
  explicit TextRecords(Output& out) : out_(out) {}

  void queue(std::uint32_t index, const session::Queue& queue) override {
    out_.write(
        fmt::format("queue {}: {}, {} bytes\n", index, queue_label(queue), grouped(queue.bytes)));
  }

  bool record(std::uint64_t offset, const hw::BtsRecord& record) override {
    fmt::format_to(std::back_inserter(out_.buffer()), "{:08x}  {:#x} => {:#x}{}\n", offset,
                   record.from, record.to, record.predicted() ? "  predicted" : "");
    out_.checkpoint();
    return out_.ok();
  }

  bool stack(const session::BranchStack& stack) override {
    auto to = std::back_inserter(out_.buffer());
    fmt::format_to(to, "sample {}/{}", stack.pid, stack.tid);
    if (stack.cpu >= 0) fmt::format_to(to, " [{:03}]", stack.cpu);
    if (stack.time) fmt::format_to(to, " {}", seconds(*stack.time));
    fmt::format_to(to, ": branch stack of {}\n", stack.entries.size());
    for (const session::StackEntry& entry : stack.entries) {
      fmt::format_to(to, "  {:#x} => {:#x}", entry.from, entry.to);
      if (entry.cycles != 0) fmt::format_to(to, " {} cycles", entry.cycles);
      out_.buffer() += entry_flags(entry) + "\n";
    }
    out_.checkpoint();
    return out_.ok();
  }

 private:
  Output& out_;
};

class JsonRecords final : public session::RecordSink {
 public:
  explicit JsonRecords(Output& out) : out_(out) {}

  void queue(std::uint32_t index, const session::Queue&) override { queue_ = index; }

  bool record(std::uint64_t offset, const hw::BtsRecord& record) override {
    fmt::format_to(std::back_inserter(out_.buffer()),
                   R"({{"queue":{},"offset":{},"size":{},"type":"BTS","from":"{:#x}","to":"{:#x}",)"
                   R"("predicted":{}}})"
                   "\n",
                   queue_, offset, sizeof(record), record.from, record.to, record.predicted());
    out_.checkpoint();
    return out_.ok();
  }

  bool stack(const session::BranchStack& stack) override {
    auto to = std::back_inserter(out_.buffer());
    fmt::format_to(to, R"({{"type":"branch_stack","pid":{},"tid":{})", stack.pid, stack.tid);
    if (stack.cpu >= 0) fmt::format_to(to, R"(,"cpu":{})", stack.cpu);
    if (stack.time) fmt::format_to(to, R"(,"time":{})", *stack.time);
    out_.buffer() += ",\"branches\":[";
    const char* between = "";
    for (const session::StackEntry& entry : stack.entries) {
      fmt::format_to(to, R"({}{{"from":"{:#x}","to":"{:#x}","mispredicted":{},"cycles":{}{}}})",
                     std::exchange(between, ","), entry.from, entry.to, entry.mispredicted,
                     entry.cycles, entry.wrong_path ? R"(,"wrong_path":true)" : "");
    }
    out_.buffer() += "]}\n";
    out_.checkpoint();
    return out_.ok();
  }

 private:
  Output& out_;
  std::uint32_t queue_ = 0;
};

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

std::unique_ptr<session::RecordSink> make_record_list(bool json, Output& out) {
  if (json) return std::make_unique<JsonRecords>(out);
  return std::make_unique<TextRecords>(out);
}

}  // namespace hodo::view
