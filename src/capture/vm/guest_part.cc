#include "guest_part.h"

#include <algorithm>
#include <array>
#include <utility>

#include "hodo/pt/reader.h"
#include "hodo/pt/writer.h"

namespace hodo::capture {
namespace {

using pt::PacketType;

constexpr std::size_t kMostInHeader = 64;  // packets of a PSB+; a processor writes about ten

bool has_ip(PacketType type) {
  return type == PacketType::tip || type == PacketType::tip_pge || type == PacketType::tip_pgd ||
         type == PacketType::fup;
}

bool is_timing(PacketType type) {
  return type == PacketType::tsc || type == PacketType::tma || type == PacketType::mtc ||
         type == PacketType::cyc || type == PacketType::cbr;
}

}  // namespace

void GuestPart::feed(std::span<const std::uint8_t> bytes, std::vector<std::uint8_t>& out) {
  // A packet is short: some bytes complete the one that was begun.
  while (!begun_.empty() && !bytes.empty()) {
    const std::size_t more = std::min(bytes.size(), 2 * pt::kMaxPacketSize);
    const std::size_t before = begun_.size();
    begun_.insert(begun_.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(more));
    const std::size_t done = read(begun_, out);
    if (done >= before) {
      bytes = bytes.subspan(done - before);
      begun_.clear();
    } else {
      begun_.erase(begun_.begin(), begun_.begin() + static_cast<std::ptrdiff_t>(done));
      bytes = bytes.subspan(more);
    }
  }
  const std::size_t done = read(bytes, out);
  const auto rest = bytes.subspan(done);
  begun_.insert(begun_.end(), rest.begin(), rest.end());
}

// Gives the number of bytes that are done with; a truncated packet's are not.
std::size_t GuestPart::read(std::span<const std::uint8_t> bytes, std::vector<std::uint8_t>& out) {
  pt::PacketReader reader(bytes, 0, errata_);
  pt::Packet packet;
  for (;;) {
    reader.skip_padding();
    const std::size_t start = reader.offset();
    if (start >= bytes.size()) return bytes.size();
    switch (reader.read(packet)) {
      case pt::ReadStatus::packet:
        take(packet, out);
        break;
      case pt::ReadStatus::truncated:
        return start;
      case pt::ReadStatus::malformed:
        lose(out);
        reader.seek(start + 1);
        reader.sync_forward();
        counts_.damaged_bytes += reader.offset() - start;
        break;
    }
  }
}

void GuestPart::take(const pt::Packet& packet, std::vector<std::uint8_t>& out) {
  if (packet.type == PacketType::tma && (packet.extra & pt::kTmaCorrupt) != 0) return;
  if (packet.type == PacketType::psb) {
    read_ip_.clear();
    in_header_ = true;
    header_.assign(1, packet);
    return;
  }
  if (in_header_) return take_header(packet, out);
  if (is_timing(packet.type)) return take_timing(packet, out);
  if (packet.type == PacketType::pip) return take_pip(packet, out);
  if (has_ip(packet.type)) return take_ip(packet, out);
  if (packet.type == PacketType::ovf) return lose(out);
  const bool path = packet.type == PacketType::tnt;
  if (packet.type == PacketType::mode_exec && (side_ != Side::guest || entering_ || leaving_)) {
    mode_ = packet;
  } else if (side_ == Side::guest && !leaving_ && !(path && entering_)) {
    put(packet, out);
  }
}

// What a PSB+ says is one state: it is kept until it is whole, since its PIP may come last.
void GuestPart::take_header(const pt::Packet& packet, std::vector<std::uint8_t>& out) {
  if (packet.type == PacketType::ovf || header_.size() >= kMostInHeader) return lose(out);
  header_.push_back(packet);
  if (packet.type == PacketType::psbend) end_header(out);
}

void GuestPart::end_header(std::vector<std::uint8_t>& out) {
  in_header_ = false;
  const auto pip = std::ranges::find(header_, PacketType::pip, &pt::Packet::type);
  if (pip != header_.end()) side_ = pip->extra != 0 ? Side::guest : Side::host;
  const bool guest = side_ == Side::guest;
  written_ip_.clear();
  host_cycles_ = 0;
  entering_ = leaving_ = false;
  for (const pt::Packet& packet : header_) {
    const bool frame = packet.type == PacketType::psb || packet.type == PacketType::psbend;
    if (!guest && packet.type == PacketType::mode_exec) mode_ = packet;
    if (!guest && !frame && packet.type != PacketType::cbr) continue;
    if (is_timing(packet.type)) clock_.apply(packet);
    if (has_ip(packet.type)) {
      take_ip(packet, out);
    } else {
      put(packet, out);
    }
  }
  if (guest && pip != header_.end()) runs_in(pip->payload);
}

// The time goes on while the host runs. Its many CYC packets are made one; its TSC is another one
// than the guest's (the VMCS has an offset between them), so the guest's and MTCs must do.
void GuestPart::take_timing(const pt::Packet& packet, std::vector<std::uint8_t>& out) {
  if (side_ != Side::guest) {
    if (packet.type == PacketType::tsc || packet.type == PacketType::tma) return;
    if (packet.type == PacketType::mtc) host_cycles_ = 0;
    if (packet.type == PacketType::cyc) {
      host_cycles_ += packet.payload;
      return clock_.apply(packet);
    }
  }
  clock_.apply(packet);
  put(packet, out);
}

void GuestPart::take_pip(const pt::Packet& packet, std::vector<std::uint8_t>& out) {
  const bool guest = packet.extra != 0;
  if (!guest) {
    leaving_ = side_ == Side::guest;
    entering_ = false;
    // Until the TIP of the exit the guest's part is not closed.
    if (!leaving_) side_ = Side::host;
    return;
  }
  entering_ = side_ != Side::guest;
  leaving_ = false;
  side_ = Side::guest;
  if (entering_) {
    ++counts_.entries;
    if (host_cycles_ != 0) {
      put({.type = PacketType::cyc, .payload = std::exchange(host_cycles_, 0)}, out);
    }
  }
  put(packet, out);
  runs_in(packet.payload);
}

void GuestPart::take_ip(pt::Packet packet, std::vector<std::uint8_t>& out) {
  const bool known = read_ip_.update(packet);
  if (leaving_ && packet.type != PacketType::fup) {
    leaving_ = false;
    side_ = Side::host;
    return put({.type = PacketType::tip_pgd}, out);
  }
  if (side_ != Side::guest || leaving_) return;
  if (entering_) {
    if (packet.type == PacketType::fup || !known) return;
    entering_ = false;
    packet.type = PacketType::tip_pge;
    if (const auto mode = std::exchange(mode_, std::nullopt)) put(*mode, out);
  }
  if (known) {
    packet.ip_bytes = written_ip_.compress(read_ip_.ip());
    packet.payload = read_ip_.ip();
  }
  put(packet, out);
}

// Nobody knows who runs until a PIP says so: a VM entry may be among what is missing.
void GuestPart::lose(std::vector<std::uint8_t>& out) {
  clock_.lose_sync();
  read_ip_.clear();
  written_ip_.clear();
  host_cycles_ = 0;
  entering_ = leaving_ = in_header_ = false;
  if (std::exchange(side_, Side::unknown) == Side::unknown) return;
  ++counts_.gaps;
  put({.type = PacketType::ovf}, out);
}

void GuestPart::gap(std::vector<std::uint8_t>& out) {
  begun_.clear();
  lose(out);
}

void GuestPart::runs_in(std::uint64_t cr3) {
  if (cr3 == cr3_) return;
  cr3_ = cr3;
  switches_.push_back({clock_.now(), cr3});
}

std::vector<GuestPart::Switch> GuestPart::take_switches() { return std::exchange(switches_, {}); }

void GuestPart::put(pt::Packet packet, std::vector<std::uint8_t>& out) {
  if (packet.type == PacketType::pip) packet.extra = 0;
  constexpr std::array<unsigned, 7> kIpBits = {0, 16, 32, 48, 48, 0, 64};
  if (has_ip(packet.type)) {
    const unsigned bits = kIpBits[static_cast<std::size_t>(packet.ip_bytes)];
    packet.payload =
        bits == 64 ? packet.payload : packet.payload & ((std::uint64_t{1} << bits) - 1);
  }
  std::array<std::uint8_t, pt::kMaxPacketSize> bytes{};
  const std::size_t size = pt::write(packet, bytes);
  out.insert(out.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
}

}  // namespace hodo::capture
