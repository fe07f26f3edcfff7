// library.injected: libraries that the program does not depend on and did not ask for.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "history_rules.h"
#include "scope.h"

namespace hodo::check {
namespace {

Verdict stranger(std::string reason, std::string_view path) {
  return {.grade = Grade::unusual,
          .reason = std::move(reason),
          .cause = std::string(path),
          .library = std::string(path)};
}

struct Before {
  std::string path;
  Verdict verdict;
};

// The program has not run yet: all that is mapped now came before its first instruction. What came
// behind `first_call`, the linker's first call of a constructor or of what chooses a function, was
// asked for by such: libraries that are preloaded are mapped before.
std::vector<Before> mapped_before(const Step& step, const text::Module* program,
                                  std::uint64_t first_call, Locator& locator) {
  const std::uint32_t space = step.context.space;
  auto files = locator.regions().files(space, step.branch.time);
  if (files.empty()) return {};
  // The linker has no other thread. The time of a branch may be a late one, as that of BTS records
  // is, and other threads load libraries.
  const std::uint64_t alone = locator.regions().next_thread(space, files.front().since);
  std::erase_if(files, [&](const auto& file) { return file.since >= alone; });
  const Scope scope(files, locator.modules());
  if (scope.program() == nullptr || (program != nullptr && program != scope.program())) return {};
  std::vector<Before> out;
  for (const auto& [loaded, brings] : scope.strangers()) {
    if (loaded.since > first_call) continue;
    Verdict verdict =
        stranger(fmt::format("{} was mapped before the program began, which does not depend on it "
                             "(LD_PRELOAD, /etc/ld.so.preload)",
                             loaded.path),
                 loaded.path);
    for (const std::string_view path : brings) {
      verdict.facts.push_back({.what = "which needs", .text = std::string(path)});
    }
    out.push_back({.path = std::string(loaded.path), .verdict = std::move(verdict)});
  }
  return out;
}

constexpr std::string_view kByPointer = "by a call of dlopen through a pointer";

// What stands between the dynamic linker and who asked for a library: itself, and libc's dlopen.
bool is_loaders(const Step& step, std::uint64_t address, Locator& locator) {
  const End end = locator.end(step.context.space, address, step.branch.time);
  return end.known() &&
         (is_dynamic_linker(*end.module) || !end.module->symbols().named("dlopen").empty());
}

// How a library came to be loaded by somebody who is not to be seen in the program's code, by the
// innermost call that is not the loader's; empty: the program asked, or nobody knows.
std::string_view way_of_loading(const Step& step, Locator& locator) {
  const auto frames = step.thread.stack.frames();
  for (std::size_t i = frames.size(); i-- > 0;) {
    if (frames[i].signal) {
      return "by a call that no code made: a debugger or a signal handler put the thread there";
    }
    if (frames[i].address == step.thread.loader_call) {
      return kByPointer;
    }
    if (!is_loaders(step, frames[i].address, locator)) return {};
  }
  return {};  // the program's start, or nobody knows
}

class LibraryInjected final : public HistoryRule {
 public:
  LibraryInjected() : HistoryRule(RuleId::library_injected) {}

  std::vector<Verdict> judge(const Happening& happening, Locator& locator) override {
    const std::uint32_t space = happening.step.context.space;
    switch (happening.what) {
      case Happening::What::begins:
        starts_[space] = {.begins = true};
        return {};
      case Happening::What::to_program: {
        const Step& step = happening.step;
        const End to = locator.end(space, step.branch.to, step.branch.time);
        starts_[space].begins = false;
        return to.known() ? preloaded(step, to.module, locator) : std::vector<Verdict>();
      }
      case Happening::What::from_linker: {
        // What is called first may do all that it is for, and never come back. An auditing library
        // is called before what the program depends on is mapped.
        Start& start = starts_[space];
        const bool first = start.first_call == session::Regions::kNever;
        if (first) start.first_call = happening.step.branch.time;
        auto out = first && start.begins ? preloaded(happening.step, nullptr, locator)
                                         : std::vector<Verdict>();
        std::ranges::move(loaded(happening.step, locator), std::back_inserter(out));
        return out;
      }
      default:
        return {};
    }
  }

 private:
  // A program's beginning.
  struct Start {
    bool begins = false;  // the kernel began with it, and the linker has not handed over
    std::uint64_t first_call = session::Regions::kNever;  // when the linker called another file
    std::set<std::string, std::less<>> told;              // the paths of what was preloaded
  };

  // `program`: where the linker hands over to; null: it does not yet.
  std::vector<Verdict> preloaded(const Step& step, const text::Module* program, Locator& locator) {
    Start& start = starts_[step.context.space];
    std::vector<Verdict> out;
    for (Before& before : mapped_before(step, program, start.first_call, locator)) {
      if (!start.told.insert(std::move(before.path)).second) continue;
      out.push_back(std::move(before.verdict));
    }
    return out;
  }

  // The dynamic linker calls into a library for the first time. One that the program does not
  // depend on has been asked for.
  std::vector<Verdict> loaded(const Step& step, Locator& locator) {
    const std::uint32_t space = step.context.space;
    const End library = locator.end(space, step.branch.to, step.branch.time);
    if (!loaded_.emplace(space, library.module).second) return {};
    const std::string_view how = way_of_loading(step, locator);
    if (how.empty()) return {};
    const Scope& scope = locator.scope(space, step.branch.time);
    if (scope.depends(scope.program(), library.module)) return {};
    Verdict verdict = stranger(fmt::format("{} was loaded {}", library.path, how), library.path);
    if (how == kByPointer) verdict.attack = step.thread.loader_attack;
    return {std::move(verdict)};
  }

  std::map<std::uint32_t, Start> starts_;  // by space, since a program began there
  // The libraries that the dynamic linker has called into, by space.
  std::set<std::pair<std::uint32_t, const text::Module*>> loaded_;
};

}  // namespace

std::unique_ptr<HistoryRule> make_library_injected() { return std::make_unique<LibraryInjected>(); }

}  // namespace hodo::check
