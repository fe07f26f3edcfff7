#include "modules.h"

#include <elf.h>

#include <array>

#include "hodo/image/file.h"
#include "hodo/text/names.h"

namespace hodo::check {
namespace {

// A file that can be read and has neither ELF's nor PE's first bytes.
bool has_code_of_no_kind(const std::string& path) {
  const auto file = image::RegularFile::open(path);
  if (!file) return false;
  std::array<std::uint8_t, 4> first{};
  const auto size = file->read_at(0, first);
  if (!size || *size == 0) return false;
  const std::string_view text(reinterpret_cast<const char*>(first.data()), *size);
  return !text.starts_with(ELFMAG) && !text.starts_with("MZ");
}

bool is_library(const text::Module& module) {
  return !module.soname().empty() || (module.elf().interpreter.empty() && !module.needed().empty());
}

bool is_generator(const text::Generator& generator, const text::Module& module) {
  return generator.content.empty() ? is_library(module) : module.contains(generator.content);
}

std::string bytes_of(const std::vector<std::uint8_t>& bytes) {
  return {bytes.begin(), bytes.end()};
}

}  // namespace

const text::Module* Modules::get(std::string_view location) {
  if (const auto known = by_location_.find(location); known != by_location_.end()) {
    return known->second.get();
  }
  const std::string path(location);
  std::shared_ptr<const text::Module>& slot = by_location_[path];
  const auto elf = image::read_elf_file(path);
  if (elf && !elf->build_id.empty()) {
    const auto same = by_build_id_.find(bytes_of(elf->build_id));
    if (same != by_build_id_.end()) {
      slot = same->second;
      return slot.get();
    }
  }
  auto module = text::Module::analyze(path, cache_);
  if (!module) {
    if (has_code_of_no_kind(path)) {
      raw_.insert(path);
    } else {
      unread_.push_back({path, module.error().message});
    }
    return nullptr;
  }
  slot = std::move(*module);
  const auto& build_id = slot->elf().build_id;
  if (!build_id.empty()) by_build_id_.emplace(bytes_of(build_id), slot);
  return slot.get();
}

const text::Generator* Modules::generator(const session::MappedFile& file) {
  const text::Generator* generator = text::find_generator(text::file_name(file.path));
  if (generator == nullptr) return nullptr;
  const auto [it, fresh] = generators_.try_emplace(std::string(file.path), generator);
  if (!fresh) return it->second;
  // Where it cannot be read there is only its name, and the check says that it has not been read.
  const text::Module* module = file.location.empty() ? nullptr : get(file.location);
  if (module != nullptr && !is_generator(*generator, *module)) it->second = nullptr;
  return it->second;
}

bool Modules::keeps_code_as_data(const text::Module& module) {
  const auto [it, fresh] = keep_code_as_data_.try_emplace(&module);
  if (fresh) it->second = text::keeps_code_as_data(module);
  return it->second;
}

}  // namespace hodo::check
