#include "modules.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <future>
#include <system_error>
#include <utility>

#include "hodo/base/processors.h"
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

// nullopt: the system has no more threads.
template <class Work>
std::optional<std::future<void>> started(const Work& work) {
  try {
    return std::async(std::launch::async, work);
  } catch (const std::system_error&) {
    return std::nullopt;
  }
}

// As many threads as can be had, the calling one among them.
template <class Work>
void at_once(std::size_t threads, const Work& work) {
  // Each analysis takes memory, some ten times the file's text while it is made.
  constexpr std::size_t kMost = 8;
  std::vector<std::future<void>> others;
  while (others.size() + 1 < std::min(threads, kMost)) {
    auto other = started(work);
    if (!other) break;
    others.push_back(std::move(*other));
  }
  work();
  for (std::future<void>& other : others) other.get();
}

// Whoever reads of the trouble is told the file beside it.
std::string_view without_path(std::string_view trouble, std::string_view path) {
  while (trouble.starts_with(path) && trouble.substr(path.size()).starts_with(": ")) {
    trouble.remove_prefix(path.size() + 2);
  }
  return trouble;
}

// Anybody can give a file the build-id of another one.
bool is_copy(const std::string& path, const text::Module& module) {
  constexpr std::size_t kAtOnce = std::size_t{1} << 16;
  const auto all = module.file();
  const auto file = image::RegularFile::open(path);
  if (!file || file->size() != all.size()) return false;
  std::vector<std::uint8_t> part(std::min(kAtOnce, all.size()));
  for (std::size_t at = 0; at < all.size(); at += part.size()) {
    part.resize(std::min(kAtOnce, all.size() - at));
    if (!file->read(at, part) || !std::ranges::equal(part, all.subspan(at, part.size()))) {
      return false;
    }
  }
  return true;
}

std::string bytes_of(const std::vector<std::uint8_t>& bytes) {
  return {bytes.begin(), bytes.end()};
}

}  // namespace

std::optional<Modules::Fresh> Modules::fresh(std::string_view location) {
  Fresh file{.path = std::string(location)};
  const auto elf = image::read_elf_file(file.path);
  if (!elf || elf->build_id.empty()) return file;
  file.build_id = bytes_of(elf->build_id);
  const auto same = by_build_id_.find(file.build_id);
  if (same == by_build_id_.end() || !is_copy(file.path, *same->second)) return file;
  by_location_[file.path] = same->second;
  return std::nullopt;
}

const text::Module* Modules::keep(const Fresh& file, Made module) {
  std::shared_ptr<const text::Module>& slot = by_location_[file.path];
  if (!module) {
    if (has_code_of_no_kind(file.path)) {
      raw_.insert(file.path);
    } else {
      const std::string_view trouble = without_path(module.error().message, file.path);
      unread_.push_back({file.path, std::string(trouble)});
    }
    return nullptr;
  }
  slot = std::move(*module);
  if (!file.build_id.empty()) by_build_id_.emplace(file.build_id, slot);
  return slot.get();
}

const text::Module* Modules::get(std::string_view location) {
  if (const auto known = by_location_.find(location); known != by_location_.end()) {
    return known->second.get();
  }
  const auto file = fresh(location);
  if (!file) return by_location_.find(location)->second.get();
  return keep(*file, text::Module::analyze(file->path, cache_));
}

void Modules::prepare(std::span<const std::string_view> locations) {
  std::vector<Fresh> files;
  std::set<std::string> names;  // locations and build-ids of `files`
  for (const std::string_view location : locations) {
    if (by_location_.contains(location)) continue;
    auto file = fresh(location);
    if (!file) continue;
    const std::string& name = file->build_id.empty() ? file->path : file->build_id;
    if (names.insert(name).second) files.push_back(std::move(*file));
  }
  std::vector<std::optional<Made>> made(files.size());
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < files.size(); i = next++) {
      made[i] = text::Module::analyze(files[i].path, cache_);
    }
  };
  at_once(std::min<std::size_t>(usable_processors(), files.size()), work);
  for (std::size_t i = 0; i < files.size(); ++i) keep(files[i], std::move(*made[i]));
}

const text::Generator* Modules::generator(const session::MappedFile& file) {
  if (const auto known = generators_.find(file.path); known != generators_.end()) {
    return known->second;
  }
  const text::Generator* generator = text::find_generator(text::file_name(file.path));
  // Where it cannot be read there is only its name, and the check says that it has not been read.
  const text::Module* module = file.location.empty() ? nullptr : get(file.location);
  if (module != nullptr) {
    if (generator == nullptr) {
      generator = text::find_joined_generator(*module);
    } else if (!is_generator(*generator, *module)) {
      generator = nullptr;
    }
  }
  generators_.emplace(file.path, generator);
  return generator;
}

bool Modules::keeps_code_as_data(const text::Module& module) {
  const auto [it, fresh] = keep_code_as_data_.try_emplace(&module);
  if (fresh) it->second = text::keeps_code_as_data(module);
  return it->second;
}

}  // namespace hodo::check
