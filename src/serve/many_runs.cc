#include "hodo/serve/many_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "aligned.h"
#include "hodo/ask/source_names.h"
#include "hodo/base/last_component.h"

namespace hodo::serve {

ManyRuns::ManyRuns() = default;
ManyRuns::~ManyRuns() = default;

Status ManyRuns::add(std::unique_ptr<session::Session> run,
                     const session::ProgressFunction& progress) {
  auto ran = std::make_unique<Ran>(*run);
  auto outcome = run->cover({.progress = progress}, ran->builds);
  if (!outcome) return std::unexpected(outcome.error());
  out_.lost |= !outcome->complete();
  ran->coverage = analyze::coverage_of(ran->counts, *run, {});
  if (first_) align_with_first(*ran);
  out_.runs.push_back(ask::spectrum_of(ran->coverage));
  without_lines_.merge(ask::without_lines(ran->coverage));
  if (first_) return {};
  first_session_ = std::move(run);
  first_ = std::move(ran);
  return {};
}

ManyRuns::Lines ManyRuns::lines_of(const Ran& ran) {
  Lines out;
  for (const analyze::CoveredModule& m : ran.coverage.modules) {
    const auto names = ask::source_names(m.files);
    for (const analyze::CoveredLine& line : m.lines) {
      if (line.file >= names.size()) continue;
      out.emplace(last_component(m.path), names[line.file], line.line);
    }
  }
  return out;
}

std::multiset<ManyRuns::Line> ManyRuns::branches_of(const Ran& ran) {
  std::multiset<Line> out;
  for (const analyze::CoveredModule& m : ran.coverage.modules) {
    const auto names = ask::source_names(m.files);
    for (const analyze::CoveredBranch& branch : m.branches) {
      if (branch.line == 0 || branch.file >= names.size()) continue;
      out.emplace(last_component(m.path), names[branch.file], branch.line);
    }
  }
  return out;
}

// What of the first run cannot be compared with this one is compared with none.
void ManyRuns::align_with_first(Ran& ran) {
  const analyze::Coverage whole = first_->coverage;
  const Alignment alignment = align(*first_, ran, "the first recording");
  out_.notes.insert(alignment.notes.begin(), alignment.notes.end());
  out_.complete &= alignment.complete;
  for (const auto& [file, functions] : alignment.inlined) {
    inlined_[file].insert(functions.begin(), functions.end());
  }
  if (alignment.rebuilt.empty()) return;
  const Lines left = lines_of(*first_);
  const std::multiset<Line> branches_left = branches_of(*first_);
  first_->coverage = whole;
  std::ranges::set_difference(lines_of(*first_), left,
                              std::inserter(uncompared_, uncompared_.end()));
  std::ranges::set_difference(branches_of(*first_), branches_left,
                              std::inserter(without_branches_, without_branches_.end()));
}

void ManyRuns::leave_out_unknown() {
  std::set<std::string> files;
  for (ask::Spectrum& run : out_.runs) {
    ask::leave_out_functions(run, inlined_);
    files.merge(ask::leave_out_lines(run, without_lines_));
    std::erase_if(run, [this](const auto& counted) {
      const ask::Executed& what = counted.first;
      if (what.kind == ask::Executed::Kind::function) return false;
      const Line line{what.module, what.name, what.line};
      return uncompared_.contains(line) ||
             (what.kind != ask::Executed::Kind::line && without_branches_.contains(line));
    });
  }
  for (const std::string& file : files) {
    out_.complete = false;
    out_.notes.insert(fmt::format(
        "{} has source lines in some of the recordings only: they are not compared", file));
  }
}

ManyRuns::Outcome ManyRuns::finish() {
  leave_out_unknown();
  out_.complete &= !out_.lost;
  return std::move(out_);
}

}  // namespace hodo::serve
