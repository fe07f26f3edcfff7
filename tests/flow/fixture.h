// A tiny language for decoder tests: code bytes and packets in, branches as text out.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hodo/flow/decoder.h"
#include "hodo/image/code.h"
#include "hodo/pt/packet.h"
#include "hodo/pt/writer.h"

namespace hodo::flow {

// Machine code at given addresses, as a CodeSource. Each at() begins a mapping of its own.
class Code : public image::CodeSource {
 public:
  Code& at(std::uint64_t address) {
    mappings_.push_back({.address = address, .bytes = {}});
    return *this;
  }
  // The mapping that was begun last holds in [from, until) only.
  Code& during(std::uint64_t from, std::uint64_t until);
  Code& raw(std::initializer_list<int> bytes);
  Code& nop() { return raw({0x90}); }
  Code& jz(std::uint64_t to) { return raw({0x0f, 0x84}).rel32(to); }      // 6 bytes
  Code& jmp(std::uint64_t to) { return raw({0xe9}).rel32(to); }           // 5
  Code& call(std::uint64_t to) { return raw({0xe8}).rel32(to); }          // 5
  Code& ijmp() { return raw({0xff, 0xe0}); }                              // 2: jmp rax
  Code& icall() { return raw({0xff, 0xd0}); }                             // 2: call rax
  Code& ret() { return raw({0xc3}); }                                     // 1
  Code& far_ret() { return raw({0xcb}); }                                 // 1
  Code& syscall() { return raw({0x0f, 0x05}); }                           // 2
  Code& sysret() { return raw({0x48, 0x0f, 0x07}); }                      // 3
  Code& int3() { return raw({0xcc}); }                                    // 1
  Code& iret() { return raw({0x48, 0xcf}); }                              // 2
  Code& mov_cr3() { return raw({0x0f, 0x22, 0xd8}); }                     // 3
  Code& ptwrite() { return raw({0xf3, 0x48, 0x0f, 0xae, 0xe0}); }         // 5
  Code& vmlaunch() { return raw({0x0f, 0x01, 0xc2}); }                    // 3
  Code& vmcall() { return raw({0x0f, 0x01, 0xc1}); }                      // 3
  Code& xbegin(std::uint64_t to) { return raw({0xc7, 0xf8}).rel32(to); }  // 6

  image::CodeSpan find(std::uint64_t address, std::uint64_t time) const override;

  struct Mapping {
    std::uint64_t address = 0;
    std::vector<std::uint8_t> bytes;
    std::uint64_t from = 0;
    std::uint64_t until = ~std::uint64_t{0};
  };
  const std::vector<Mapping>& mappings() const { return mappings_; }

 private:
  Code& rel32(std::uint64_t to);
  std::vector<Mapping> mappings_;
};

// Packets, IPs compressed as a processor does.
class Trace {
 public:
  static constexpr std::uint8_t kExec64 = pt::kExecCsL;
  static constexpr std::uint8_t kExec32 = pt::kExecCsD;

  // PSB, TSC if given, MODE.Exec (64-bit unless said otherwise), FUP if tracing is on, PSBEND.
  Trace& psb(std::optional<std::uint64_t> ip = {}, std::uint8_t exec = kExec64,
             std::optional<std::uint64_t> tsc = {});
  Trace& tnt(std::string_view outcomes);  // "T" and "N", oldest first
  Trace& tip(std::uint64_t ip) { return ip_packet(pt::PacketType::tip, ip); }
  Trace& pge(std::uint64_t ip) { return ip_packet(pt::PacketType::tip_pge, ip); }
  Trace& pgd(std::optional<std::uint64_t> ip = {}) {
    return ip_packet(pt::PacketType::tip_pgd, ip);
  }
  Trace& fup(std::uint64_t ip) { return ip_packet(pt::PacketType::fup, ip); }
  Trace& ovf() {
    last_ip_.clear();
    return plain(pt::PacketType::ovf);
  }
  Trace& plain(pt::PacketType type, std::uint64_t payload = 0, std::uint32_t extra = 0,
               std::uint8_t count = 0);
  Trace& raw(std::initializer_list<int> bytes);
  Trace& cut(std::size_t bytes);  // takes bytes off the end
  std::size_t size() const { return bytes_.size(); }
  const std::vector<std::uint8_t>& bytes() const { return bytes_; }

 private:
  Trace& packet(const pt::Packet& packet);
  Trace& ip_packet(pt::PacketType type, std::optional<std::uint64_t> ip);

  std::vector<std::uint8_t> bytes_;
  pt::LastIp last_ip_;
};

// Everything the decoder said.
struct Decoded : BranchSink {
  std::vector<Branch> branches;
  std::vector<Loss> losses;
  std::vector<Event> events;
  std::vector<std::uint64_t> instructions;
  std::vector<std::string> order;  // of calls: "branches", "loss", "event"
  Stats stats;

  void on_branches(std::span<const Branch> batch) override;
  void on_loss(const Loss& loss) override;
  void on_event(const Event& event) override;
  void on_instructions(std::span<const std::uint64_t> ips) override;

  // "cond 1000>1010", absent addresses as 0; flags behind: " end async tx far not-taken resync".
  std::vector<std::string> text() const;
};

// Decodes by walking every step, and expects the same of every other way.
Decoded decode(const Code& code, const Trace& trace, const Config& config = {});

// The usual check: these branches and no loss.
std::vector<std::string> path(const Code& code, const Trace& trace, const Config& config = {});

using Path = std::vector<std::string>;

}  // namespace hodo::flow
