// Text of another file in the place of what a program began with.
#include <algorithm>
#include <optional>
#include <vector>

#include "edge.h"
#include "hodo/text/names.h"
#include "scope.h"

namespace hodo::check {
namespace {

using session::MappedFile;

// When a file was mapped that `fits`; nullopt: none of them does.
std::optional<std::uint64_t> since(const std::vector<MappedFile>& files, auto&& fits) {
  const auto found = std::ranges::find_if(files, fits);
  return found == files.end() ? std::nullopt : std::optional(found->since);
}

// By another name of the same file, for one.
bool is_the_same(const End& a, const End& b) {
  return a.vaddr == b.vaddr && std::ranges::equal(a.module->file(), b.module->file());
}

}  // namespace

const std::string& Locator::mapped_over(const End& end, std::uint32_t space, std::uint64_t time) {
  const auto [it, fresh] = over_.try_emplace({space, end.region});
  if (fresh) it->second = find_mapped_over(end, space, time);
  return it->second;
}

std::string Locator::find_mapped_over(const End& end, std::uint32_t space, std::uint64_t time) {
  const auto files = regions_->files(space, time);
  const auto mapped = since(files, [&](const MappedFile& f) { return f.path == end.path; });
  if (!mapped || *mapped == 0) return {};
  const End before = this->end(space, end.address, *mapped - 1);
  if (!before.known() || before.module == end.module || is_the_same(before, end)) return {};
  const Scope& scope = this->scope(space, time);
  // What was there before the program was of another one.
  const auto began = since(files, [&](const MappedFile& file) {
    return !file.location.empty() && modules_.get(file.location) == scope.program();
  });
  if (scope.program() == nullptr || !began || *began >= *mapped) return {};
  const Scope then(regions_->files(space, *mapped - 1), modules_);
  const bool stays = then.depends(scope.program(), before.module);
  return stays ? std::string(text::file_name(before.path)) : std::string();
}

}  // namespace hodo::check
