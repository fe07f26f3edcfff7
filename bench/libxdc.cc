#include "libxdc.h"

#include <dlfcn.h>

#include <algorithm>

#include "hodo/base/page.h"

namespace hodo::bench {
namespace {

constexpr std::uint8_t kTraceEnd = 0x55;  // PT_TRACE_END
constexpr std::size_t kBitmap = 1 << 16;

template <class Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

}  // namespace

Libxdc::Libxdc(std::span<const std::uint8_t> trace, const image::CodeSource& code,
               flow::IpRange filter)
    : code_(code), trace_(trace.begin(), trace.end()), bitmap_(kBitmap) {
  trace_.push_back(kTraceEnd);
  filter_[0][0] = filter.lo;
  filter_[0][1] = filter.hi;
}

Libxdc::~Libxdc() {
  for (Decoder* decoder : {kept_, told_}) {
    if (decoder != nullptr) functions_.free(decoder);
  }
}

bool Libxdc::find_functions(const std::string& file) {
  void* const library = dlopen(file.c_str(), RTLD_NOW);
  return library != nullptr && find(library, "libxdc_init", functions_.init) &&
         find(library, "libxdc_decode", functions_.decode) &&
         find(library, "libxdc_register_edge_callback", functions_.on_edge) &&
         find(library, "libxdc_enable_tracing", functions_.enable) &&
         find(library, "libxdc_free", functions_.free);
}

Result<std::unique_ptr<Libxdc>> Libxdc::load(const std::string& file,
                                             std::span<const std::uint8_t> trace,
                                             const image::CodeSource& code, flow::IpRange filter) {
  std::unique_ptr<Libxdc> out(new Libxdc(trace, code, filter));
  if (!out->find_functions(file)) {
    const char* const why = dlerror();
    return fail(ErrorCode::unsupported, why != nullptr ? why : file + " is not libxdc");
  }
  out->kept_ = out->make();
  out->told_ = out->make();
  out->functions_.on_edge(
      out->told_,
      [](void* self, std::uint64_t, std::uint64_t) { ++static_cast<Libxdc*>(self)->edges_; },
      out.get());
  out->functions_.enable(out->told_);
  return out;
}

Libxdc::Decoder* Libxdc::make() {
  const auto fetch = [](void* self, std::uint64_t address, bool* there) -> void* {
    void* const page = static_cast<Libxdc*>(self)->page(address);
    *there = page != nullptr;
    return page;
  };
  return functions_.init(filter_, fetch, this, bitmap_.data(), bitmap_.size());
}

// A page that is only mapped in part is zero elsewhere.
void* Libxdc::page(std::uint64_t address) {
  const std::uint64_t start = address / kPage * kPage;
  auto [found, made] = pages_.try_emplace(start);
  if (!made) return found->second.get();
  std::unique_ptr<Page> page;
  for (std::uint64_t at = start; at < start + kPage;) {
    const image::CodeSpan span = code_.find(at, 0);
    if (span.content == 0) {
      ++at;
      continue;
    }
    if (page == nullptr) page = std::make_unique<Page>();
    const auto rest = span.bytes.subspan(static_cast<std::size_t>(at - span.address));
    const std::size_t count = std::min<std::uint64_t>(rest.size(), start + kPage - at);
    std::copy_n(rest.begin(), count, page->begin() + (at - start));
    at += count;
  }
  found->second = std::move(page);
  return found->second.get();
}

void Libxdc::decode(Decoder* decoder) {
  constexpr int kSuccess = 0;
  constexpr int kOverflow = 1;  // success, too
  const int result = functions_.decode(decoder, trace_.data(), trace_.size() - 1);
  complete_ = complete_ && (result == kSuccess || result == kOverflow);
}

void Libxdc::first_pass() {
  Decoder* const decoder = make();
  decode(decoder);
  functions_.free(decoder);
}

void Libxdc::repeated() { decode(kept_); }

std::uint64_t Libxdc::edges() {
  edges_ = 0;
  decode(told_);
  return edges_;
}

bool Libxdc::is_complete() const { return complete_; }

}  // namespace hodo::bench
