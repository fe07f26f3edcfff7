// A part of a thread's or a processor's timeline, as much of it as can be seen.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>

#include "details.h"
#include "marks.h"
#include "methods.h"
#include "overview.h"
#include "processors.h"
#include "schema.h"

namespace hodo::serve {
namespace {

using analyze::SliceAxis;

constexpr std::uint64_t kMostWidth = 16384;
constexpr std::uint64_t kMostRowsAtOnce = 64;

struct Wanted {
  ask::ThreadId thread;
  std::optional<std::int32_t> processor;  // and no thread
  Range range;                            // of the recording's clock
  std::uint64_t pixel = 0;                // so much of the axis is one, rounded up
  std::uint64_t zero = 0;                 // what answers count from
  std::size_t first_row = 0, last_row = 0;
  bool quick = false;  // rather coarse than late
};

Result<Wanted> wanted_in(Workspace& workspace, const Json& params) {
  Wanted out;
  if (params.contains("thread") == params.contains("processor")) {
    return fail(ErrorCode::usage, "params need either 'thread' or 'processor'");
  }
  if (params.contains("thread")) {
    auto thread = thread_named(text_in(params, "thread"));
    if (!thread) return std::unexpected(thread.error());
    out.thread = *thread;
  } else {
    constexpr std::uint64_t kMost = std::numeric_limits<std::int32_t>::max();
    out.processor = static_cast<std::int32_t>(std::min(number_in(params, "processor", 0), kMost));
  }
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
  out.quick = flag_in(params, "quick");
  return out;
}

// Numbers the names that an answer has.
class Names {
 public:
  // `threads`: of each name, where they are of several.
  Names(const std::vector<SliceName>& all, const std::vector<ask::ThreadId>* threads)
      : all_(all), threads_(threads) {}
  Json number(std::uint32_t name) {
    if (name >= all_.size()) return -1;
    const auto [it, fresh] = numbers_.try_emplace(name, list_.size());
    if (!fresh) return it->second;
    list_.push_back({{"name", all_[name].name}, {"object", all_[name].object}});
    if (threads_ != nullptr) list_.back()["thread"] = ask::to_string((*threads_)[name]);
    return it->second;
  }
  Json take() { return std::move(list_); }

 private:
  const std::vector<SliceName>& all_;
  const std::vector<ask::ThreadId>* threads_;
  std::map<std::uint32_t, std::size_t> numbers_;
  Json list_ = Json::array();
};

// Lanes that lie one behind the other; calls that go over several of them are in each.
struct Found {
  std::vector<const Lane*> lanes;
  const std::vector<SliceName>* names;
  const std::vector<ask::ThreadId>* threads = nullptr;  // as of Names
  bool finer_later = false;                             // without `quick` there would be more
};

// Puts the slices of a row together: those that fit into a pixel are one.
class Row {
 public:
  explicit Row(const Wanted& wanted)
      : range_(wanted.range),
        grain_(range_.axis == SliceAxis::time
                   ? Grain{.time = wanted.pixel, .instructions = ~std::uint64_t{0}}
                   : Grain{.time = ~std::uint64_t{0}, .instructions = wanted.pixel}) {}

  void add(const std::vector<Slice>& row) {
    auto it = std::ranges::lower_bound(row, range_.from, {},
                                       [&](const Slice& slice) { return range_.of(slice.to); });
    if (it != row.end() && goes_on(*it)) {
      if (slices_.back().branch == it->branch && slices_.back().open) slices_.back() = *it;
      ++it;
    }
    for (; it != row.end() && range_.of(it->from) <= range_.to; ++it) add(*it);
  }
  const std::vector<Slice>& slices() const { return slices_; }

 private:
  // It is the last one of the lane before, which may not have known its end.
  bool goes_on(const Slice& first) const {
    return !slices_.empty() && first.branch == last_branch_ && range_.of(first.from) <= range_.to;
  }
  void add(const Slice& slice) {
    last_branch_ = slice.branch;
    if (!slices_.empty() && fits(slices_.back(), slice, grain_)) {
      take_in(slices_.back(), slice);
    } else {
      slices_.push_back(slice);
    }
  }

  const Range& range_;
  Grain grain_;
  std::vector<Slice> slices_;
  std::uint64_t last_branch_ = 0;
};

// A list for each of a slice's fields: no more than their numbers, of which there are many.
Json columns_of(const std::vector<Slice>& row, std::size_t depth, const Wanted& wanted,
                Names& names) {
  const auto place = [&](const Place& at) {
    const std::uint64_t value = wanted.range.of(at);
    return static_cast<std::int64_t>(value - std::min(value, wanted.zero));
  };
  Json::array_t gaps, lengths, named, branches, counts;
  Json open = Json::array();
  for (Json::array_t* const list : {&gaps, &lengths, &named, &branches, &counts}) {
    list->reserve(row.size());
  }
  std::int64_t at = 0, branch = 0;
  for (std::size_t i = 0; i < row.size(); ++i) {
    const Slice& slice = row[i];
    const std::int64_t from = place(slice.from), to = place(slice.to);
    gaps.emplace_back(from - at);
    lengths.emplace_back(to - from);
    named.push_back(names.number(slice.name));
    branches.emplace_back(static_cast<std::int64_t>(slice.branch) - branch);
    counts.emplace_back(slice.count);
    if (slice.open) open.push_back(i);
    at = to;
    branch = static_cast<std::int64_t>(slice.branch);
  }
  return {
      {"depth", depth},           {"gap", std::move(gaps)},        {"length", std::move(lengths)},
      {"name", std::move(named)}, {"branch", std::move(branches)}, {"count", std::move(counts)},
      {"open", std::move(open)}};
}

// Whether something is merged that a pixel would tell apart.
bool is_coarse(const std::vector<Slice>& row, const Wanted& wanted) {
  return std::ranges::any_of(row, [&](const Slice& slice) {
    return slice.count > 1 &&
           wanted.range.of(slice.to) - wanted.range.of(slice.from) > wanted.pixel;
  });
}

// Marks in the part; those of one kind within a pixel are one.
Json marks_json(const Marks& marks, const Wanted& wanted) {
  Json out = Json::array();
  std::map<std::string_view, std::pair<std::uint64_t, std::size_t>> last;  // place, index in `out`
  for (const ShownMark& mark : marks.list) {
    if (!wanted.range.has(mark.at)) continue;
    const std::uint64_t at = wanted.range.of(mark.at);
    const auto it = last.find(mark.kind);
    if (it != last.end() && at - std::min(at, it->second.first) <= wanted.pixel) {
      Json& before = out[it->second.second];
      before["count"] = before["count"].get<std::uint64_t>() + 1;
      continue;
    }
    last[mark.kind] = {at, out.size()};
    out.push_back({{"at", at - std::min(at, wanted.zero)},
                   {"kind", mark.kind},
                   {"text", mark.text},
                   {"moment", mark.moment},
                   {"count", 1}});
  }
  return out;
}

// Who wants a quick answer waits for no more than these, some twenty milliseconds each.
constexpr std::size_t kQuickSegments = 1;

// The overview where that is fine enough, else the part decoded anew where that is short enough.
Result<Found> source_of(Workspace& workspace, const Overview& overview, const Lane& lane,
                        const Wanted& wanted) {
  Found coarse{{&lane}, &overview.names};
  const std::uint64_t grain =
      wanted.range.axis == SliceAxis::time ? overview.grain.time : overview.grain.instructions;
  if (grain <= wanted.pixel) return coarse;
  const ask::IndexedRecording* index = workspace.index();
  if (index == nullptr) return coarse;
  const auto segments = Details::segments_of(index->index, wanted.thread, wanted.range);
  if (!segments) return coarse;
  Details& details = workspace.details();
  if (wanted.quick && details.missing(*segments) > kQuickSegments) {
    coarse.finer_later = true;
    return coarse;
  }
  auto lanes = details.at(*index, *segments, overview, workspace.walk().progress);
  if (!lanes) return std::unexpected(lanes.error());
  return Found{std::move(*lanes), &details.names()};
}

Json tile_json(const Found& found, const Wanted& wanted, const Lane& whole) {
  Names names(*found.names, found.threads);
  Json rows = Json::array();
  bool coarse = false;
  const std::size_t depth = whole.rows.size();
  const std::size_t behind = std::min(wanted.last_row, Overview::kMostRows) + 1;
  for (std::size_t i = wanted.first_row; i < behind; ++i) {
    Row row(wanted);
    for (const Lane* const lane : found.lanes) {
      if (i < lane->rows.size()) row.add(lane->rows[i]);
    }
    if (row.slices().empty()) continue;
    coarse = coarse || is_coarse(row.slices(), wanted);
    rows.push_back(columns_of(row.slices(), i, wanted, names));
  }
  return Json{{"from", wanted.range.from - std::min(wanted.range.from, wanted.zero)},
              {"to", wanted.range.to - std::min(wanted.range.to, wanted.zero)},
              {"names", names.take()},
              {"rows", std::move(rows)},
              {"depth", depth},
              {"coarse", coarse},
              {"finer_later", coarse && found.finer_later},
              {"deeper", whole.deeper},
              {"more", depth > wanted.last_row + 1 || whole.deeper != 0}};
}

Result<Json> thread_tile(Workspace& workspace, const Overview& overview, const Wanted& wanted) {
  const auto& lanes = overview.lanes;
  const auto lane =
      std::ranges::find(lanes, wanted.thread, [](const Lane& one) { return one.total.thread; });
  if (lane == lanes.end()) {
    return fail(ErrorCode::not_found,
                fmt::format("no thread {} ran; 'info' lists them", ask::to_string(wanted.thread)));
  }
  auto found = source_of(workspace, overview, *lane, wanted);
  if (!found) return std::unexpected(found.error());
  Json out = tile_json(*found, wanted, *lane);
  const Marks marks = marks_of(workspace, *lane);
  out["thread"] = ask::to_string(wanted.thread);
  out["marks"] = marks_json(marks, wanted);
  out["marks_left_out"] = marks.left_out;
  return out;
}

// Its marks are those of the threads.
Result<Json> processor_tile(Workspace& workspace, const Overview& overview, const Wanted& wanted) {
  const auto processor = std::ranges::find(overview.processors, *wanted.processor, &Processor::cpu);
  if (processor == overview.processors.end()) {
    return fail(ErrorCode::not_found, fmt::format("there is no trace of a processor {}; 'info' "
                                                  "lists those that have one",
                                                  *wanted.processor));
  }
  const ProcessorPart part =
      part_of_processor(*processor, overview, workspace.session(), wanted.range, wanted.pixel);
  Json out = tile_json({{&part.lane}, &part.names, &part.threads}, wanted, part.lane);
  out["processor"] = *wanted.processor;
  out["marks"] = Json::array();
  out["marks_left_out"] = 0;
  return out;
}

Result<Json> answer_tile(Workspace& workspace, const Json& params) {
  auto overview = workspace.overview();
  if (!overview) return std::unexpected(overview.error());
  auto wanted = wanted_in(workspace, params);
  if (!wanted) return std::unexpected(wanted.error());
  return wanted->processor ? processor_tile(workspace, **overview, *wanted)
                           : thread_tile(workspace, **overview, *wanted);
}

Json tile_parameters() {
  using namespace schema;
  return schema::parameters(
      {{"thread", thread()},
       {"processor", number("in the place of a thread: who ran on it, and the calls of those")},
       {"axis", one_of({"time", "instructions"}, "what from and to count (time)")},
       {"from",
        real("nanoseconds since the recording's first time, or instructions of the thread, or of "
             "the processor")},
       {"to", real("the same")},
       {"width", number("pixels from there to there, at most 16384 (1000)", 1)},
       {"min_depth", number("rows from this one on (0)")},
       {"max_depth", number("rows up to this one, at most 64 at once")},
       {"quick", flag("rather coarse than late (false)")}},
      {"from", "to"});
}

Json tile_result() {
  using namespace schema;
  const auto numbers = [](std::string_view what) { return list(any(), what); };
  Json row = object(
      {{"depth", number("open calls below")},
       {"gap", numbers("of each slice, in order: from the end of the one before (0) to its own "
                       "beginning, on the axis; the first and the last may lie partly outside")},
       {"length", numbers("on the axis")},
       {"name", numbers("index in names; -1: calls of several functions")},
       {"branch", numbers("of its moment, before the first instruction of its first call, "
                          "THREAD:BRANCH; as difference to the one before (0)")},
       {"count", numbers("calls in it: those within a pixel are one slice")},
       {"open", numbers("numbers of slices whose end is not known: the path ends in them")}},
      {"depth", "gap", "length", "name", "branch", "count", "open"});
  Json mark = object({{"at", number("on the axis")},
                      {"kind", one_of({"lost", "signal", "exec", "sample", "fork", "code",
                                       "snapshot", "finding", "end"},
                                      "what it is")},
                      {"text", string("in words")},
                      {"moment", moment("where that is")},
                      {"count", number("of its kind within a pixel", 1)}},
                     {"at", "kind", "text", "moment", "count"});
  return object(
      {{"thread", thread()},
       {"processor", number("in the place of a thread")},
       {"from", number("as asked for")},
       {"to", number("as asked for")},
       {"names",
        list(object({{"name", string("a function; in a processor's first row a thread")},
                     {"object", string("its file")},
                     {"thread", string("of a processor: whose branches its slices count")}},
                    {"name", "object"}))},
       {"rows", list(std::move(row), "those in which something is")},
       {"marks", list(std::move(mark), "findings only once they have been asked for")},
       {"marks_left_out", number("of the thread")},
       {"depth", number("rows of the whole thread")},
       {"coarse", flag("slices are merged that could be told apart: ask for a shorter part")},
       {"finer_later", flag("... as they would not be without `quick`")},
       {"deeper", number("calls of the thread that are too deep for any row")},
       {"more", flag("there are rows below those in the answer")}},
      {"from", "to", "names", "rows", "marks", "depth", "coarse", "more"});
}

}  // namespace

Method tile_method() {
  return {"tile",
          "A part of a thread's timeline: its calls as slices, as many as can be seen; or of a "
          "processor's.",
          tile_parameters, tile_result, answer_tile};
}

}  // namespace hodo::serve
