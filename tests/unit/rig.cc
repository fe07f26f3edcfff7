#include "rig.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "hodo/pt/describe.h"
#include "hodo/pt/reader.h"

namespace hodo::unit {
namespace {

Block make(std::uint64_t start, isa::InsnClass cls, std::uint8_t last, std::uint16_t size = 16) {
  Block b;
  b.start = start;
  b.size = size;
  b.insns = 2;
  b.last = last;
  b.cls = cls;
  return b;
}

}  // namespace

std::uint64_t Rig::clock = 0;

Rig::Rig(std::uint64_t rtit_ctl, std::uint64_t ring, isa::Mode mode) : size_(ring) {
  const int fd = memfd_create("ring", MFD_CLOEXEC);
  void* area = mmap(nullptr, 2 * ring, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (fd < 0 || ftruncate(fd, static_cast<off_t>(ring)) != 0 || area == MAP_FAILED) std::abort();
  base_ = static_cast<std::uint8_t*>(area);
  for (std::uint8_t* at : {base_, base_ + ring}) {
    if (mmap(at, ring, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED) {
      std::abort();
    }
  }
  close(fd);
  PtOutput output;
  output.base = base_;
  output.size = ring;
  output.owner = this;
  output.reserve = [](void* self, std::uint64_t written) {
    auto* rig = static_cast<Rig*>(self);
    if (rig->draining) rig->drain(written);
    if (rig->stop_when_asked) {
      rig->unit.stop();
      return std::uint64_t{0};
    }
    return rig->size_ - (written - rig->bytes_.size());
  };
  output.interrupted = [](void* self, const Block&, std::uint64_t& ip, bool& by_fault) {
    const auto* rig = static_cast<Rig*>(self);
    ip = rig->interrupted_ip;
    by_fault = rig->faulted;
    return rig->by_signal;
  };
  output.remains = &remains;
  output.key = kKey;
  output.cr3 = [](void* self) { return static_cast<const Rig*>(self)->cr3; };
  unit.start(rtit_ctl, mode, output, [] { return clock; });
}

Rig::~Rig() { munmap(base_, 2 * size_); }

void Rig::drain(std::uint64_t written) {
  ASSERT_LE(written - bytes_.size(), size_) << "the unit overran its ring";
  while (bytes_.size() < written) bytes_.push_back(base_[bytes_.size() % size_]);
}

const std::vector<std::uint8_t>& Rig::bytes() {
  if (!finished_) drain(unit.written());
  return bytes_;
}

void Rig::finish() {
  StreamDigest digest(kKey);
  digest.add(bytes().data(), bytes().size());
  ASSERT_EQ(remains.digest, digest.value()) << "what it left is not what it wrote";
  const auto end = pending_packets(remains.outcomes, digest.value());
  ASSERT_TRUE(end);
  bytes_.insert(bytes_.end(), end->bytes.begin(), end->bytes.begin() + end->size);
  finished_ = true;
}

std::vector<pt::Packet> Rig::packets() {
  pt::PacketReader reader(bytes());
  std::vector<pt::Packet> out;
  while (!reader.at_end()) {
    const auto packet = reader.next();
    if (!packet) {
      ADD_FAILURE() << "at " << reader.offset() << ": " << packet.error().message;
      break;
    }
    out.push_back(*packet);
  }
  return out;
}

std::vector<std::string> Rig::text() {
  const auto all = packets();
  const auto end = std::ranges::find(all, pt::PacketType::psbend, &pt::Packet::type);
  std::vector<std::string> out;
  pt::LastIp last;
  for (auto packet = end == all.end() ? end : end + 1; packet != all.end(); ++packet) {
    if (packet->type == pt::PacketType::psb) last.clear();
    pt::Packet whole = *packet;
    if (last.update(*packet)) whole.payload = last.ip();
    out.push_back(pt::to_string(whole));
  }
  return out;
}

Block other(std::uint64_t start, std::uint16_t size) {
  Block b = make(start, isa::InsnClass::other, 1, size);
  b.taken = b.other = b.end();
  return b;
}

Block cond(std::uint64_t start, std::uint64_t taken) {
  Block b = make(start, isa::InsnClass::cond, 6);
  b.taken = taken;
  b.other = b.end();
  b.tnt = 1;
  return b;
}

Block jmp(std::uint64_t start, std::uint64_t to) {
  Block b = make(start, isa::InsnClass::jmp, 5);
  b.taken = b.other = to;
  return b;
}

Block call(std::uint64_t start, std::uint64_t to) {
  Block b = make(start, isa::InsnClass::call, 5);
  b.taken = b.other = to;
  if (to != b.end()) b.flags = Block::kPushes;
  return b;
}

Block icall(std::uint64_t start) {
  Block b = make(start, isa::InsnClass::icall, 2);
  b.flags = Block::kPushes;
  return b;
}

Block ijmp(std::uint64_t start) { return make(start, isa::InsnClass::ijmp, 2); }
Block ret(std::uint64_t start) { return make(start, isa::InsnClass::ret, 1); }
Block syscall(std::uint64_t start) { return make(start, isa::InsnClass::syscall, 2); }
Block sysret(std::uint64_t start) { return make(start, isa::InsnClass::sysret, 3); }
Block int_n(std::uint64_t start) { return make(start, isa::InsnClass::int_, 2); }
Block mov_cr3(std::uint64_t start) { return make(start, isa::InsnClass::mov_cr3, 3); }

Block as_handler(Block b) {
  b.flags |= Block::kHandler;
  return b;
}

Block narrow(Block b) {
  b.flags |= Block::kNarrow;
  return b;
}

}  // namespace hodo::unit
