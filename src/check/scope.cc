#include "scope.h"

#include <algorithm>
#include <array>
#include <set>

#include "hodo/text/names.h"

namespace hodo::check {

Scope::Scope(const std::vector<session::MappedFile>& files, Modules& modules) {
  std::vector<std::string_view> locations;
  for (const session::MappedFile& file : files) {
    if (!file.location.empty()) locations.push_back(file.location);
  }
  modules.prepare(locations);
  for (const session::MappedFile& file : files) {
    const text::Module* module = file.location.empty() ? nullptr : modules.get(file.location);
    loaded_.push_back({file.path, module, file.since});
    if (module == nullptr) continue;
    const std::string_view name = text::file_name(file.path);
    claim(name, module, Claim::file_name);
    if (!module->soname().empty()) {
      // "libz.so.1" of libz.so.1.2.13, which a link of that name leads to.
      const bool is_like = name.starts_with(module->soname());
      claim(module->soname(), module, is_like ? Claim::link : Claim::soname);
    }
    const bool is_program = !module->elf().interpreter.empty() && module->soname().empty();
    if (is_program && program_ == nullptr) program_ = module;
  }
}

// Any file can be made with any DT_SONAME. The dynamic linker takes the first that has it for the
// library; its maker's name for the file tells which one is meant.
void Scope::claim(std::string_view name, const text::Module* module, Claim how) {
  const auto [it, fresh] = by_name_.try_emplace(std::string(name), module, how);
  if (!fresh && how < it->second.second) it->second = {module, how};
}

bool Scope::Reached::contains(const text::Module* module) const {
  return std::ranges::binary_search(files, module);
}

const Scope::Reached& Scope::reached(const text::Module* from) const {
  const auto [known, fresh] = reached_.try_emplace(from);
  if (!fresh) return known->second;
  bool complete = true;
  std::set<const text::Module*> out;
  std::vector<const text::Module*> todo = {from};
  while (!todo.empty()) {
    const text::Module* module = todo.back();
    todo.pop_back();
    if (!out.insert(module).second) continue;
    // False: it is not there.
    const auto add = [&](const std::string& name) {
      // A dependency with a slash in it is a path.
      const auto found = by_name_.find(text::file_name(name));
      if (found != by_name_.end()) todo.push_back(found->second.first);
      return found != by_name_.end();
    };
    for (const std::string& name : module->needed()) complete &= add(name);
    for (const std::string& name : module->wished()) add(name);
  }
  known->second = {.files = {out.begin(), out.end()}, .complete = complete};
  return known->second;
}

bool Scope::depends(const text::Module* from, const text::Module* to) const {
  return from != nullptr && reached(from).contains(to);
}

bool Scope::share_opened(const text::Module* from, const text::Module* to) const {
  if (depends(program_, from)) return false;
  return std::ranges::any_of(loaded_, [&](const Loaded& opened) {
    return depends(opened.module, from) && depends(opened.module, to);
  });
}

bool Scope::lacks(const text::Module* from, std::string_view name) const {
  if (program_ == nullptr) return false;
  const auto has = [&](const text::Module* module) {
    return std::ranges::any_of(module->symbols().named(name), &symbol::Symbol::global);
  };
  return std::ranges::all_of(std::array{program_, from}, [&](const text::Module* file) {
    const Reached& all = reached(file);
    return all.complete && std::ranges::none_of(all.files, has);
  });
}

std::vector<Scope::Stranger> Scope::strangers() const {
  if (program_ == nullptr || !reached(program_).complete) return {};
  const std::string_view interpreter = text::file_name(program_->elf().interpreter);
  std::vector<Loaded> all = loaded_;
  std::ranges::stable_sort(all, {}, &Loaded::since);
  std::vector<Stranger> out;
  for (const Loaded& l : all) {
    if (l.module != nullptr && depends(program_, l.module)) continue;
    const bool linker = text::file_name(l.path) == interpreter ||
                        (l.module != nullptr && l.module->soname() == interpreter);
    if (linker) continue;
    const auto brings = [&](const Stranger& s) {
      return l.module != nullptr && depends(s.file.module, l.module);
    };
    const auto who = std::ranges::find_if(out, brings);
    if (who == out.end()) {
      out.push_back({.file = l});
    } else {
      who->brings.push_back(l.path);
    }
  }
  return out;
}

}  // namespace hodo::check
