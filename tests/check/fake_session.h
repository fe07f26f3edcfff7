// A session that holds what a test maps: files, memory without files, code that ran. Branches are
// not decoded but handed to a checker one by one.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "elf_builder.h"
#include "hodo/session/session.h"

namespace hodo::check {

// A file of memory, by a path that stays good as long as this process runs.
inline std::string path_of(const text::ElfBuilder& elf) {
  const text::Bytes bytes = elf.build();
  const int fd = ::memfd_create("prog", MFD_CLOEXEC);
  if (fd < 0 || ::write(fd, bytes.data(), bytes.size()) < 0) std::abort();
  return "/proc/self/fd/" + std::to_string(fd);
}

class FakeSession : public session::Session, public session::Regions, public session::Names {
 public:
  // From `begin` on, up to what is mapped next; the file's first byte lies there.
  void map(std::uint64_t begin, session::Region what, std::uint64_t since = 0) {
    what.id = static_cast<std::uint32_t>(mapped_.size());
    mapped_[begin] = what;
    files_.erase(begin);
    if (!what.path.empty()) files_[begin] = {what.path, what.location, since};
  }
  // Bytes that ran, as far as they are asked for. Where they were kept, other bytes make other
  // regions.
  void run_code(std::uint64_t address, std::vector<std::uint8_t> bytes) {
    constexpr std::uint32_t kMost = 1 << 16;
    code_ = {address, std::move(bytes)};
    for (auto& [begin, region] : mapped_) {
      if (region.kept) region.id += kMost;
    }
  }

  // Regions.
  std::optional<session::Region> region(std::uint32_t, std::uint64_t address,
                                        std::uint64_t) const override {
    const auto next = mapped_.upper_bound(address);
    if (next == mapped_.begin()) return std::nullopt;
    session::Region out = std::prev(next)->second;
    out.file_offset = address - std::prev(next)->first;
    return out;
  }
  Id id(std::uint32_t space, std::uint64_t address, std::uint64_t time) const override {
    const auto found = region(space, address, time);
    return {.id = found ? found->id : kNoRegion};
  }
  std::vector<session::MappedFile> files(std::uint32_t, std::uint64_t) const override {
    std::vector<session::MappedFile> out;
    for (const auto& [begin, file] : files_) out.push_back(file);
    return out;
  }
  std::uint64_t next_thread(std::uint32_t, std::uint64_t) const override { return kNever; }
  std::vector<session::Fork> forks() const override { return {}; }
  std::vector<session::Grant> grants() const override {
    std::vector<session::Grant> out;
    for (const auto& [begin, region] : mapped_) {
      if (region.grant) out.push_back(*region.grant);
    }
    std::ranges::sort(out);
    return out;
  }

  // Names.
  session::Place place(std::uint32_t, std::uint64_t, std::uint64_t) const override { return {}; }
  session::Object object(std::uint32_t, std::uint64_t, std::uint64_t) const override { return {}; }
  std::uint32_t generation(std::uint32_t, std::uint64_t) const override { return 0; }

  // Session.
  const std::string& path() const override { return path_; }
  session::TraceKind trace() const override { return session::TraceKind::pt; }
  const session::Facts* facts() const override { return nullptr; }
  session::Clock clock() const override { return {}; }
  std::span<const session::Queue> queues() const override { return {}; }
  const session::Names& names() const override { return *this; }
  const session::Regions* regions() const override { return this; }
  std::size_t read_code(std::uint32_t, std::uint64_t address, std::uint64_t,
                        std::span<std::uint8_t> out) override {
    std::size_t size = 0;
    while (size < out.size() && address + size - code_.first < code_.second.size()) {
      out[size] = code_.second[address + size - code_.first];
      ++size;
    }
    return size;
  }
  isa::Mode mode(std::uint32_t, std::uint64_t) override { return isa::Mode::bits64; }
  std::vector<session::LossLine> input_losses() const override { return {}; }
  Result<session::Outcome> decode(const session::DecodeOptions&, session::BranchSink&) override {
    return fail(ErrorCode::unsupported, "");
  }
  Result<session::Outcome> packets(const session::DecodeOptions&, session::PacketSink&) override {
    return fail(ErrorCode::unsupported, "");
  }

 private:
  std::string path_ = "fake";
  std::map<std::uint64_t, session::Region> mapped_;  // by where they begin
  std::map<std::uint64_t, session::MappedFile> files_;
  std::pair<std::uint64_t, std::vector<std::uint8_t>> code_;
};

}  // namespace hodo::check
