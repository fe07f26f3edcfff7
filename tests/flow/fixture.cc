#include "fixture.h"

#include <cstdio>
#include <cstring>

#include "ways.h"

namespace hodo::flow {
namespace {

std::string hex(std::uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "%llx", static_cast<unsigned long long>(value));
  return text;
}

std::string text_of(const Branch& branch) {
  std::string out = std::string(name(branch.kind)) + " " + hex(branch.from) + ">" + hex(branch.to);
  if (branch.flags & kTraceEnd) out += " end";
  if (branch.flags & kAsync) out += " async";
  if (branch.flags & kInTx) out += " tx";
  if (branch.flags & kFar) out += " far";
  if (branch.flags & kNotTaken) out += " not-taken";
  if (branch.flags & kResync) out += " resync";
  return out;
}

}  // namespace

Code& Code::during(std::uint64_t from, std::uint64_t until) {
  mappings_.back().from = from;
  mappings_.back().until = until;
  return *this;
}

Code& Code::raw(std::initializer_list<int> bytes) {
  for (const int byte : bytes) mappings_.back().bytes.push_back(static_cast<std::uint8_t>(byte));
  return *this;
}

Code& Code::rel32(std::uint64_t to) {
  auto& [address, bytes, from, until] = mappings_.back();
  const auto distance = static_cast<std::uint32_t>(to - (address + bytes.size() + 4));
  for (int i = 0; i < 4; ++i) bytes.push_back(static_cast<std::uint8_t>(distance >> (8 * i)));
  return *this;
}

image::CodeSpan Code::find(std::uint64_t address, std::uint64_t time) const {
  image::CodeSpan nothing;
  for (std::size_t i = 0; i < mappings_.size(); ++i) {
    const Mapping& mapping = mappings_[i];
    if (address - mapping.address >= mapping.bytes.size()) continue;
    if (time < mapping.from) {
      nothing.valid_until = std::min(nothing.valid_until, mapping.from);
    } else if (time >= mapping.until) {
      nothing.valid_from = std::max(nothing.valid_from, mapping.until);
    } else {
      return {.content = i + 1,
              .address = mapping.address,
              .bytes = mapping.bytes,
              .valid_from = mapping.from,
              .valid_until = mapping.until};
    }
  }
  return nothing;
}

Trace& Trace::packet(const pt::Packet& packet) {
  std::uint8_t buffer[pt::kMaxPacketSize];
  const std::size_t size = pt::write(packet, buffer);
  EXPECT_NE(size, 0u) << "cannot write a " << pt::name(packet.type);
  bytes_.insert(bytes_.end(), buffer, buffer + size);
  return *this;
}

Trace& Trace::plain(pt::PacketType type, std::uint64_t payload, std::uint32_t extra,
                    std::uint8_t count) {
  return packet({.type = type, .count = count, .payload = payload, .extra = extra});
}

Trace& Trace::ip_packet(pt::PacketType type, std::optional<std::uint64_t> ip) {
  pt::Packet out{.type = type};
  if (ip) {
    out.ip_bytes = last_ip_.compress(*ip);
    const unsigned bits = out.ip_bytes == pt::IpBytes::update16   ? 16
                          : out.ip_bytes == pt::IpBytes::update32 ? 32
                          : out.ip_bytes == pt::IpBytes::full     ? 64
                                                                  : 48;
    out.payload = bits == 64 ? *ip : *ip & ((std::uint64_t{1} << bits) - 1);
  }
  return packet(out);
}

Trace& Trace::psb(std::optional<std::uint64_t> ip, std::uint8_t exec,
                  std::optional<std::uint64_t> tsc) {
  last_ip_.clear();
  plain(pt::PacketType::psb);
  if (tsc) plain(pt::PacketType::tsc, *tsc);
  plain(pt::PacketType::mode_exec, exec);
  if (ip) fup(*ip);
  return plain(pt::PacketType::psbend);
}

Trace& Trace::tnt(std::string_view outcomes) {
  pt::Packet out{.type = pt::PacketType::tnt};
  out.count = static_cast<std::uint8_t>(outcomes.size());
  if (outcomes.size() > 6) out.size = 8;
  for (const char outcome : outcomes) out.payload = out.payload << 1 | (outcome == 'T');
  return packet(out);
}

Trace& Trace::raw(std::initializer_list<int> bytes) {
  for (const int byte : bytes) bytes_.push_back(static_cast<std::uint8_t>(byte));
  return *this;
}

Trace& Trace::cut(std::size_t bytes) {
  bytes_.resize(bytes_.size() - bytes);
  return *this;
}

void Decoded::on_branches(std::span<const Branch> batch) {
  order.push_back("branches");
  branches.insert(branches.end(), batch.begin(), batch.end());
}

void Decoded::on_loss(const Loss& loss) {
  order.push_back("loss");
  losses.push_back(loss);
}

void Decoded::on_event(const Event& event) {
  order.push_back("event");
  events.push_back(event);
}

void Decoded::on_instructions(std::span<const std::uint64_t> ips) {
  instructions.insert(instructions.end(), ips.begin(), ips.end());
}

std::vector<std::string> Decoded::text() const {
  std::vector<std::string> out;
  for (const Branch& branch : branches) out.push_back(text_of(branch));
  return out;
}

Decoded decode(const Code& code, const Trace& trace, const Config& config) {
  // Walked step by step, and by what is remembered.
  Config walked = config;
  walked.want_instructions = true;
  Decoded out;
  out.stats = flow::decode(trace.bytes(), code, walked, out);
  if (!config.want_instructions) {
    out.instructions.clear();
    const Piece piece{.bytes = trace.bytes()};
    EXPECT_EQ(difference_between_ways(std::span(&piece, 1), code, config), "");
  }
  return out;
}

std::vector<std::string> path(const Code& code, const Trace& trace, const Config& config) {
  const Decoded out = decode(code, trace, config);
  for (const Loss& loss : out.losses) {
    ADD_FAILURE() << name(loss.cause) << " at " << loss.offset << ": " << loss.reason;
  }
  return out.text();
}

}  // namespace hodo::flow
