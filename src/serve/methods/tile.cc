// A part of a thread's timeline, as much of it as can be seen.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "details.h"
#include "finding_places.h"
#include "hodo/view/moments.h"
#include "methods.h"
#include "overview.h"
#include "schema.h"

namespace hodo::serve {
namespace {

using analyze::SliceAxis;

constexpr std::uint64_t kMostWidth = 16384;
constexpr std::uint64_t kMostRowsAtOnce = 64;

struct Wanted {
  ask::ThreadId thread;
  Range range;              // of the recording's clock
  std::uint64_t pixel = 0;  // so much of the axis is one, rounded up
  std::uint64_t zero = 0;   // what answers count from
  std::size_t first_row = 0, last_row = 0;
};

Result<Wanted> wanted_in(Workspace& workspace, const Json& params) {
  Wanted out;
  auto thread = thread_named(text_in(params, "thread"));
  if (!thread) return std::unexpected(thread.error());
  out.thread = *thread;
  const bool time = text_in(params, "axis", "time") == "time";
  out.range.axis = time ? SliceAxis::time : SliceAxis::instructions;
  out.zero = time ? workspace.start() : 0;
  out.range.from = number_in(params, "from", 0) + out.zero;
  out.range.to = number_in(params, "to", 0) + out.zero;
  if (out.range.to < out.range.from) {
    return fail(ErrorCode::usage, "params.to lies before params.from");
  }
  const std::uint64_t width =
      std::clamp<std::uint64_t>(number_in(params, "width", 1000), 1, kMostWidth);
  out.pixel = (out.range.to - out.range.from) / width;
  out.first_row = number_in(params, "min_depth", 0);
  const std::size_t most = out.first_row + kMostRowsAtOnce - 1;
  out.last_row = std::min<std::size_t>(number_in(params, "max_depth", most), most);
  return out;
}

// Numbers the names that an answer has.
class Names {
 public:
  explicit Names(const std::vector<SliceName>& all) : all_(all) {}
  Json number(std::uint32_t name) {
    if (name >= all_.size()) return -1;
    const auto [it, fresh] = numbers_.try_emplace(name, list_.size());
    if (fresh) list_.push_back({{"name", all_[name].name}, {"object", all_[name].object}});
    return it->second;
  }
  Json take() { return std::move(list_); }

 private:
  const std::vector<SliceName>& all_;
  std::map<std::uint32_t, std::size_t> numbers_;
  Json list_ = Json::array();
};

struct Found {
  const Lane& lane;
  const std::vector<SliceName>& names;
};

// What one row shows: slices that fit into a pixel together are one.
std::vector<Slice> visible(const std::vector<Slice>& row, const Wanted& wanted) {
  const Range& range = wanted.range;
  const Grain grain = range.axis == SliceAxis::time
                          ? Grain{.time = wanted.pixel, .instructions = ~std::uint64_t{0}}
                          : Grain{.time = ~std::uint64_t{0}, .instructions = wanted.pixel};
  auto it = std::ranges::lower_bound(row, range.from, {},
                                     [&](const Slice& slice) { return range.of(slice.to); });
  std::vector<Slice> out;
  for (; it != row.end() && range.of(it->from) <= range.to; ++it) {
    if (!out.empty() && fits(out.back(), *it, grain)) {
      take_in(out.back(), *it);
    } else {
      out.push_back(*it);
    }
  }
  return out;
}

Json slice_json(const Slice& slice, const Wanted& wanted, Names& names) {
  const auto place = [&](const Place& at) {
    const std::uint64_t value = wanted.range.of(at);
    return value - std::min(value, wanted.zero);
  };
  // There are ten thousands of them: field by field, since a list of fields is made and copied.
  Json out = Json::object();
  auto& fields = out.get_ref<Json::object_t&>();
  fields.reserve(6);
  fields.emplace_back("from", place(slice.from));
  fields.emplace_back("to", place(slice.to));
  fields.emplace_back("name", names.number(slice.name));
  fields.emplace_back("moment", ask::text(ask::Moment{wanted.thread, slice.branch, 0}));
  fields.emplace_back("count", slice.count);
  if (slice.open) fields.emplace_back("open", true);
  return out;
}

// Whether something is merged that a pixel would tell apart.
bool is_coarse(const std::vector<Slice>& row, const Wanted& wanted) {
  return std::ranges::any_of(row, [&](const Slice& slice) {
    return slice.count > 1 &&
           wanted.range.of(slice.to) - wanted.range.of(slice.from) > wanted.pixel;
  });
}

std::string_view kind_of(MarkKind kind) {
  switch (kind) {
    case MarkKind::lost:
      return "lost";
    case MarkKind::signal:
      return "signal";
    case MarkKind::exec:
      break;
  }
  return "exec";
}

std::string_view words_of(MarkKind kind) {
  switch (kind) {
    case MarkKind::lost:
      return "a part of the trace is missing";
    case MarkKind::signal:
      return "entered from outside: a signal handler, or a callback from where nothing is recorded";
    case MarkKind::exec:
      break;
  }
  return "another program took the place of the one before";
}

// Marks of the path; those of one kind within a pixel are one.
Json path_marks(const Lane& lane, const Wanted& wanted) {
  Json out = Json::array();
  std::map<MarkKind, std::pair<std::uint64_t, std::size_t>> last;  // place, index in `out`
  for (const Mark& mark : lane.marks) {
    if (!wanted.range.has(mark.at)) continue;
    const std::uint64_t at = wanted.range.of(mark.at);
    const auto it = last.find(mark.kind);
    if (it != last.end() && at - it->second.first <= wanted.pixel) {
      Json& before = out[it->second.second];
      before["count"] = before["count"].get<std::uint64_t>() + 1;
      continue;
    }
    last[mark.kind] = {at, out.size()};
    out.push_back({{"at", at - std::min(at, wanted.zero)},
                   {"kind", kind_of(mark.kind)},
                   {"text", words_of(mark.kind)},
                   {"moment", ask::text(ask::Moment{wanted.thread, mark.branch, 0})},
                   {"count", 1}});
  }
  return out;
}

// Marks that are not of the path itself: findings, once they are known, and the process's end.
void add_other_marks(Workspace& workspace, const ThreadTotal& total, const Wanted& wanted,
                     Json& marks) {
  session::Clock clock = workspace.session().clock();
  const auto add = [&](const Place& place, std::string_view kind, const std::string& text,
                       const std::string& moment) {
    if (!wanted.range.has(place)) return;
    const std::uint64_t at = wanted.range.of(place);
    marks.push_back({{"at", at - std::min(at, wanted.zero)},
                     {"kind", kind},
                     {"text", text},
                     {"moment", moment},
                     {"count", 1}});
  };
  if (const view::Checked* checked = workspace.checked_already()) {
    const auto& places = workspace.finding_places();
    for (std::size_t i = 0; i < checked->findings.size(); ++i) {
      const check::Finding& finding = checked->findings[i];
      if (ask::thread_of(finding.who) != wanted.thread || !places[i]) continue;
      add({clock.nanoseconds(finding.branch.time), places[i]->instructions}, "finding",
          std::string(finding.rule->name), fmt::format("finding:{}", i + 1));
    }
  }
  for (const session::ProcessEnd& end : ends_of(workspace.session())) {
    const std::int32_t tid = end.tid != 0 ? end.tid : end.pid;
    if (end.pid != total.pid || tid != wanted.thread.tid) continue;
    add({end.time, total.instructions}, "end", view::end_words(end),
        "end:" + ask::text(wanted.thread));
  }
}

// The overview where that is fine enough, else the part decoded anew where that is short enough.
Result<Found> source_of(Workspace& workspace, const Overview& overview, const Lane& lane,
                        const Wanted& wanted) {
  const Found coarse{lane, overview.names};
  const std::uint64_t grain =
      wanted.range.axis == SliceAxis::time ? overview.grain.time : overview.grain.instructions;
  if (grain <= wanted.pixel) return coarse;
  const ask::IndexedRecording* index = workspace.index();
  if (index == nullptr) return coarse;
  const auto segments = Details::segments_of(index->index, wanted.thread, wanted.range);
  if (!segments) return coarse;
  auto detail = workspace.details().at(*index, *segments, overview);
  if (!detail) return std::unexpected(detail.error());
  return Found{(*detail)->lane, (*detail)->names};
}

Json tile_json(const Found& found, const Wanted& wanted, const Lane& whole) {
  Names names(found.names);
  Json rows = Json::array();
  bool coarse = false;
  const std::size_t depth = whole.rows.size();
  for (std::size_t i = wanted.first_row; i < found.lane.rows.size() && i <= wanted.last_row; ++i) {
    const std::vector<Slice> row = visible(found.lane.rows[i], wanted);
    if (row.empty()) continue;
    coarse = coarse || is_coarse(row, wanted);
    Json slices = Json::array();
    slices.get_ref<Json::array_t&>().reserve(row.size());
    for (const Slice& slice : row) slices.push_back(slice_json(slice, wanted, names));
    rows.push_back({{"depth", i}, {"slices", std::move(slices)}});
  }
  return Json{{"thread", ask::text(wanted.thread)},
              {"from", wanted.range.from - std::min(wanted.range.from, wanted.zero)},
              {"to", wanted.range.to - std::min(wanted.range.to, wanted.zero)},
              {"names", names.take()},
              {"rows", std::move(rows)},
              {"depth", depth},
              {"coarse", coarse},
              {"deeper", whole.deeper},
              {"more", depth > wanted.last_row + 1 || whole.deeper != 0}};
}

Result<Json> answer(Workspace& workspace, const Json& params) {
  auto overview = workspace.overview();
  if (!overview) return std::unexpected(overview.error());
  auto wanted = wanted_in(workspace, params);
  if (!wanted) return std::unexpected(wanted.error());
  const auto& lanes = (*overview)->lanes;
  const auto lane =
      std::ranges::find(lanes, wanted->thread, [](const Lane& one) { return one.total.thread; });
  if (lane == lanes.end()) {
    return fail(ErrorCode::not_found,
                fmt::format("no thread {} ran; 'info' lists them", ask::text(wanted->thread)));
  }
  auto found = source_of(workspace, **overview, *lane, *wanted);
  if (!found) return std::unexpected(found.error());
  Json out = tile_json(*found, *wanted, *lane);
  Json marks = path_marks(*lane, *wanted);
  add_other_marks(workspace, lane->total, *wanted, marks);
  out["marks"] = std::move(marks);
  out["marks_left_out"] = lane->more_marks;
  return out;
}

Json parameters() {
  using namespace schema;
  return schema::parameters(
      {{"thread", thread()},
       {"axis", one_of({"time", "instructions"}, "what from and to count (time)")},
       {"from",
        real("nanoseconds since the recording's first time, or instructions of the thread")},
       {"to", real("the same")},
       {"width", number("pixels from there to there, at most 16384 (1000)", 1)},
       {"min_depth", number("rows from this one on (0)")},
       {"max_depth", number("rows up to this one, at most 64 at once")}},
      {"thread", "from", "to"});
}

Json result() {
  using namespace schema;
  Json slice = object({{"from", number("on the axis")},
                       {"to", number("on the axis; may lie outside of what was asked for")},
                       {"name", any("index in names; -1: calls of several functions")},
                       {"moment", moment("before the first instruction of its first call")},
                       {"count", number("calls in it: those within a pixel are one slice", 1)},
                       {"open", flag("its end is not known: the path ends in it")}},
                      {"from", "to", "name", "moment", "count"});
  Json mark = object({{"at", number("on the axis")},
                      {"kind", one_of({"lost", "signal", "exec", "finding", "end"}, "what it is")},
                      {"text", text("in words")},
                      {"moment", moment("where that is")},
                      {"count", number("of its kind within a pixel", 1)}},
                     {"at", "kind", "text", "moment", "count"});
  return object(
      {{"thread", thread()},
       {"from", number("as asked for")},
       {"to", number("as asked for")},
       {"names", list(object({{"name", text("a function")}, {"object", text("its file")}},
                             {"name", "object"}))},
       {"rows", list(object({{"depth", number("open calls below")},
                             {"slices", list(std::move(slice), "in order")}},
                            {"depth", "slices"}),
                     "those in which something is")},
       {"marks", list(std::move(mark), "findings only once they have been asked for")},
       {"marks_left_out", number("of the thread")},
       {"depth", number("rows of the whole thread")},
       {"coarse", flag("slices are merged that could be told apart: ask for a shorter part")},
       {"deeper", number("calls of the thread that are too deep for any row")},
       {"more", flag("there are rows below those in the answer")}},
      {"thread", "from", "to", "names", "rows", "marks", "depth", "coarse", "more"});
}

}  // namespace

Method tile_method() {
  return {"tile", "A part of a thread's timeline: its calls as slices, as many as can be seen.",
          parameters, result, answer};
}

}  // namespace hodo::serve
