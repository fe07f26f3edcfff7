#include "hodo/serve/line_store.h"

#include <mutex>

#include "hodo/text/module_cache.h"

namespace hodo::serve {
namespace {

class UserLines final : public symbol::LineStore {
 public:
  std::optional<std::vector<std::uint8_t>> load(std::span<const std::uint8_t> key) override {
    const text::ModuleCache* const cache = opened();
    return cache != nullptr ? cache->load(text::ModuleCache::key_of(key)) : std::nullopt;
  }
  void store(std::span<const std::uint8_t> key, std::span<const std::uint8_t> bytes) override {
    const text::ModuleCache* const cache = opened();
    if (cache != nullptr) cache->store(text::ModuleCache::key_of(key), bytes);
  }

 private:
  const text::ModuleCache* opened() {
    std::call_once(once_, [this] { cache_ = text::ModuleCache::of_user("lines"); });
    return cache_ ? &*cache_ : nullptr;
  }

  std::once_flag once_;
  std::optional<text::ModuleCache> cache_;
};

}  // namespace

std::shared_ptr<symbol::LineStore> line_store_of_user() { return std::make_shared<UserLines>(); }

}  // namespace hodo::serve
