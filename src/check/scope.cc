#include "scope.h"

#include "names.h"

namespace hodo::check {

Scope::Scope(const std::vector<session::MappedFile>& files, Modules& modules) {
  for (const session::MappedFile& file : files) {
    const Module* module = file.location.empty() ? nullptr : modules.get(file.location);
    loaded_.push_back({file.path, module});
    if (module == nullptr) continue;
    by_name_.emplace(file_name(file.path), module);
    if (!module->soname().empty()) by_name_.emplace(module->soname(), module);
    const bool is_program = !module->elf().interpreter.empty() && module->soname().empty();
    if (is_program && program_ == nullptr) program_ = module;
  }
}

bool Scope::collect(const Module* from, std::set<const Module*>& out) const {
  std::vector<const Module*> todo = {from};
  bool complete = true;
  while (!todo.empty()) {
    const Module* module = todo.back();
    todo.pop_back();
    if (!out.insert(module).second) continue;
    for (const std::string& name : module->needed()) {
      // A dependency with a slash in it is a path.
      const auto found = by_name_.find(file_name(name));
      if (found == by_name_.end()) {
        complete = false;
      } else {
        todo.push_back(found->second);
      }
    }
  }
  return complete;
}

bool Scope::depends(const Module* from, const Module* to) const {
  std::set<const Module*> all;
  if (from != nullptr) collect(from, all);
  return all.contains(to);
}

std::vector<Scope::Loaded> Scope::strangers() const {
  std::set<const Module*> wanted;
  if (program_ == nullptr || !collect(program_, wanted)) return {};
  const std::string_view interpreter = file_name(program_->elf().interpreter);
  std::vector<Loaded> out;
  for (const Loaded& l : loaded_) {
    if (l.module != nullptr && wanted.contains(l.module)) continue;
    const bool linker = file_name(l.path) == interpreter ||
                        (l.module != nullptr && l.module->soname() == interpreter);
    if (!linker) out.push_back(l);
  }
  return out;
}

}  // namespace hodo::check
