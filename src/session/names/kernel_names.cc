#include "kernel_names.h"

#include "facts/ticks.h"

namespace hodo::session {
namespace {

constexpr std::string_view kKernel = "[kernel]";

}  // namespace

KernelNames::KernelNames(const perfdata::Model& recording) {
  if (!recording.counts().contains(perfdata::RecordType::ksymbol)) return;
  symbols_ = perfdata::read_kernel_symbols(recording.reader());
  const perfdata::TimeConversion conversion = recording.trace_clock();
  for (std::uint32_t i = 0; i < symbols_.size(); ++i) {
    const perfdata::KernelSymbol& s = symbols_[i];
    names_.cover(s.address, s.address + (s.size - 1), ticks(conversion, s.from), i);
  }
}

std::optional<KernelNames::Named> KernelNames::at(std::uint64_t address, std::uint64_t time) const {
  image::Timeline::Answer answer = names_.find(address, time);
  // The trace's clock lags behind that of the sideband: see Space::find.
  if (answer.value == image::Timeline::kNothing && answer.valid_until != image::Timeline::kEnd) {
    answer = names_.find(address, answer.valid_until);
  }
  if (answer.value == image::Timeline::kNothing) return std::nullopt;
  const perfdata::KernelSymbol& found = symbols_[answer.value];
  Named out{.symbol = found.name, .object = kKernel, .start = found.address, .size = found.size};
  if (out.symbol == kKernel) out.symbol = {};
  const std::size_t module = out.symbol.rfind(" [");
  if (module != std::string_view::npos && out.symbol.ends_with(']')) {
    out.object = out.symbol.substr(module + 1);
    out.symbol = out.symbol.substr(0, module);
  }
  return out;
}

}  // namespace hodo::session
