#include "raw.h"

namespace hodo::session {
namespace {

// Hands out what another source has, so that each decoding has a source of its own.
class Borrowed final : public image::CodeSource {
 public:
  explicit Borrowed(const image::CodeSource& source) : source_(source) {}
  image::CodeSpan find(std::uint64_t address, std::uint64_t time) const override {
    return source_.find(address, time);
  }

 private:
  const image::CodeSource& source_;
};

}  // namespace

Result<std::unique_ptr<Session>> Raw::open(const Options& options) {
  auto trace = RawTrace::open(options);
  if (!trace) return std::unexpected(trace.error());
  auto raw = std::unique_ptr<Raw>(new Raw(std::move(*trace)));
  raw->queue_.bytes = raw->trace_.size();
  raw->config_.initial_mode = options.raw->mode;
  raw->config_.errata = options.raw->errata;
  for (const auto& [first, last] : options.raw->filters) {
    raw->config_.filter.push_back({first, last});
  }
  return raw;
}

Occupancy Raw::occupancy(std::size_t) { return {}; }

std::unique_ptr<image::CodeSource> Raw::code(std::size_t, const Occupancy&) {
  return std::make_unique<Borrowed>(trace_.code());
}

}  // namespace hodo::session
