// What is made of a recording once and kept in the user's cache, to be found again for the same
// recording and the same code.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hodo/session/session.h"
#include "hodo/text/module_cache.h"
#include "hodo/text/parts_file.h"

namespace hodo::serve {

class KeptPlace {
 public:
  KeptPlace(std::shared_ptr<const text::ModuleCache> cache, const text::ModuleCache::Key& key)
      : cache_(std::move(cache)), key_(key) {}
  std::optional<std::vector<std::uint8_t>> load() const { return cache_->load(key_); }
  void store(std::span<const std::uint8_t> bytes) const { cache_->store(key_, bytes); }
  // In parts: as ModuleCache has it.
  std::unique_ptr<text::PartsReader> open_parts() const { return cache_->open_parts(key_); }
  std::unique_ptr<text::PartsWriter> write_parts() const { return cache_->write_parts(key_); }
  std::uint64_t size() const { return cache_->size_of(key_); }  // bytes there
  void forget() const { cache_->forget(key_); }
  // The same for another thing that is kept beside this one, by its name.
  KeptPlace beside(const std::string& name) const;

 private:
  std::shared_ptr<const text::ModuleCache> cache_;
  text::ModuleCache::Key key_;
};

// So long a trace is worth keeping something of it; a shorter one is decoded in no time.
bool is_long(const session::Session& session);

// For a thing of this name. nullopt: the recording is short or of a kind whose code files are not
// known, or there is no cache.
std::optional<KeptPlace> kept_place(session::Session& session, const std::string& name);

}  // namespace hodo::serve
