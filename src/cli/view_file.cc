#include "view_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <nlohmann/json.hpp>
#include <queue>
#include <set>
#include <utility>
#include <vector>

#include "hodo/serve/method.h"
#include "hodo/serve/rpc.h"
#include "hodo/view/json_dump.h"

namespace hodo::cli {
namespace {

using serve::Json;

constexpr std::size_t kMostBytes = std::size_t{16} << 20;
constexpr std::size_t kMostTileBytes = std::size_t{2} << 20;  // of each axis
constexpr int kTileLevels = 6;   // the whole recording in one, two, four ... 32 pieces
constexpr int kTileWidth = 512;  // as timeline/tiles.ts asks
constexpr std::size_t kMostThreads = 64;
constexpr std::size_t kMostTreeRows = 100;
constexpr std::size_t kMostFunctions = 16;
constexpr std::size_t kMostMoments = 12;
constexpr std::size_t kMostCalls = 24;  // the longest ones: who clicks one sees where it began

class Answers {
 public:
  explicit Answers(serve::Workspace& workspace) : workspace_(&workspace) {}

  // Asks and keeps. Null: there is no answer, or no room for it.
  Json add(std::string_view method, const Json& params) {
    const std::string question = question_of(method, params);
    if (!asked_.insert(question).second || size() >= kMostBytes) return nullptr;
    auto answer = serve::ask(*workspace_, method, params);
    if (!answer) {
      error_ = answer.error();
      return nullptr;
    }
    const std::size_t text = keep(serve::one_line(*answer));
    if (text == kNoRoom) return nullptr;
    if (!questions_.empty()) questions_ += ",\n";
    questions_ += fmt::format("{}:{}", serve::one_line(Json(question)), text);
    return std::move(*answer);
  }

  std::size_t size() const { return text_.size(); }
  const Error& error() const { return error_; }
  // Members of a JSON object: the answers' texts, and for each question the number of its own.
  std::string text() const {
    return fmt::format("\"texts\":[{}],\n\"answers\":{{{}}}", text_, questions_);
  }

 private:
  // Its number. Many questions have one answer: the code at each moment of a function.
  static constexpr std::size_t kNoRoom = ~std::size_t{0};
  std::size_t keep(std::string text) {
    if (const auto known = numbers_.find(text); known != numbers_.end()) return known->second;
    if (text.size() > kMostBytes - text_.size()) return kNoRoom;
    if (!text_.empty()) text_ += ",\n";
    text_ += text;
    const std::size_t number = numbers_.size();
    numbers_.emplace(std::move(text), number);
    return number;
  }

  // As question_key() in rpc.ts: members in the order of their names.
  static std::string question_of(std::string_view method, const Json& params) {
    const nlohmann::json sorted = params;
    return fmt::format("{} {}", method, view::json_dump(sorted, -1, false));
  }

  serve::Workspace* workspace_;
  std::set<std::string> asked_;
  std::map<std::string, std::size_t> numbers_;  // of the texts
  std::string text_, questions_;
  Error error_;
};

// Of a thread, or of a processor: as the page's axis of instructions.
std::uint64_t longest_lane(const Json& info) {
  std::uint64_t most = 1;
  for (const Json& processor : info["processors"]) {
    most = std::max(most, processor["instructions"].get<std::uint64_t>());
  }
  for (const Json& process : info["processes"]) {
    for (const Json& thread : process["threads"]) {
      most = std::max(most, thread["instructions"].get<std::uint64_t>());
    }
  }
  return most;
}

std::vector<std::string> threads_of(const Json& info) {
  std::vector<std::string> out;
  for (const Json& process : info["processes"]) {
    for (const Json& thread : process["threads"]) {
      if (out.size() < kMostThreads) out.push_back(thread["thread"].get<std::string>());
    }
  }
  return out;
}

// As a question about a lane's piece names it.
std::vector<Json> lanes_of(const Json& info) {
  std::vector<Json> out;
  for (const Json& processor : info["processors"]) {
    out.push_back({{"processor", processor["processor"]}});
  }
  for (const std::string& thread : threads_of(info)) out.push_back({{"thread", thread}});
  return out;
}

Json piece_of(Json lane, const std::string& axis, std::uint64_t from, std::uint64_t to) {
  lane["axis"] = axis;
  lane["from"] = from;
  lane["to"] = to;
  lane["width"] = kTileWidth;
  return lane;
}

// The level on which one piece goes over all of a length.
int level_over(std::uint64_t length) {
  return 64 - std::countl_zero(std::max<std::uint64_t>(length, 2) - 1);
}

// What is drawn of the timeline: a part of an axis.
struct Drawn {
  std::string axis;
  std::uint64_t from = 0, to = 0;
  std::vector<Json> lanes;
  bool has(std::int64_t place) const {
    return std::cmp_greater_equal(place, from) && std::cmp_less_equal(place, to);
  }
};

// The calls that take most room, for who clicks them.
class LongCalls {
 public:
  void look_at(const Json& tile, const Drawn& drawn) {
    if (!tile.is_object() || !tile.contains("thread")) return;
    const auto thread = tile["thread"].get<std::string>();
    for (const Json& row : tile["rows"]) {
      std::int64_t end = 0, branch = 0;
      for (std::size_t i = 0; i < row["gap"].size(); ++i) {
        const std::int64_t from = end + row["gap"][i].get<std::int64_t>();
        const auto length = row["length"][i].get<std::int64_t>();
        end = from + length;
        branch += row["branch"][i].get<std::int64_t>();
        if (row["count"][i] != 1 || !drawn.has(from)) continue;
        calls_[fmt::format("{}:{}", thread, branch)] = static_cast<std::uint64_t>(length);
      }
    }
  }
  std::vector<std::string> longest() const {
    std::vector<std::pair<std::uint64_t, std::string>> all;
    all.reserve(calls_.size());
    for (const auto& [moment, length] : calls_) all.emplace_back(length, moment);
    std::ranges::sort(all, std::ranges::greater{});
    std::vector<std::string> out;
    for (const auto& [length, moment] : all) {
      if (out.size() < kMostCalls) out.push_back(moment);
    }
    return out;
  }

 private:
  std::map<std::string, std::uint64_t> calls_;
};

// The timeline, level by level, so that what there is no room for is the finest.
void add_tiles(Answers& answers, const Drawn& drawn, LongCalls& calls) {
  const std::size_t begin = answers.size();
  const int first = level_over(drawn.to - drawn.from);
  for (int level = first; level >= std::max(0, first - kTileLevels + 1); --level) {
    const std::uint64_t span = std::uint64_t{1} << level;
    for (const Json& lane : drawn.lanes) {
      for (std::uint64_t from = drawn.from / span * span; from < drawn.to; from += span) {
        if (answers.size() - begin > kMostTileBytes) return;
        calls.look_at(answers.add("tile", piece_of(lane, drawn.axis, from, from + span)), drawn);
      }
    }
  }
}

std::uint64_t length_of(const Json& info, std::string_view axis) {
  if (axis == "instructions") return longest_lane(info);
  return std::max<std::uint64_t>(1, info.value("duration_ns", std::uint64_t{0}));
}

// All lanes in one piece each: what the small map shows, and what is around a part.
void add_whole_lanes(Answers& answers, const Json& info, const std::string& axis) {
  const std::uint64_t span = std::uint64_t{1} << level_over(length_of(info, axis));
  for (const Json& lane : lanes_of(info)) answers.add("tile", piece_of(lane, axis, 0, span));
}

// The paths on which most ran, of the part.
void add_tree(Answers& answers, const Json& part) {
  struct Row {
    std::uint64_t instructions;
    std::vector<std::string> path;
    bool operator<(const Row& other) const { return instructions < other.instructions; }
  };
  std::priority_queue<Row> open;
  const auto take = [&](const Json& level, const std::vector<std::string>& path) {
    if (!level.is_object()) return;
    for (const Json& row : level["children"]) {
      if (!row.value("children", false)) continue;
      std::vector<std::string> below = path;
      below.push_back(row.value("name", ""));
      open.push({row.value("instructions", std::uint64_t{0}), std::move(below)});
    }
  };
  take(answers.add("tree", part), {});
  for (std::size_t rows = 0; rows < kMostTreeRows && !open.empty(); ++rows) {
    const std::vector<std::string> path = open.top().path;
    open.pop();
    Json question = part;
    question["path"] = path;
    take(answers.add("tree", question), path);
  }
}

void add_moment(Answers& answers, const std::string& moment) {
  const Json scene = answers.add("scene", {{"at", moment}});
  if (scene.is_null() || !scene.contains("stands_at") || scene["stands_at"].is_null()) return;
  answers.add("code", {{"address", scene["stands_at"]["address"]}});
}

// Where processes ended, what was found, where threads begin.
void add_moments(Answers& answers, const Json& info, const Json& ends, const Json& findings) {
  std::vector<std::string> moments;
  if (ends.is_object() && ends.contains("processes")) {
    for (const Json& process : ends["processes"]) {
      if (!process.contains("threads")) continue;
      for (const Json& thread : process["threads"]) {
        if (thread.contains("moment")) moments.push_back(thread["moment"].get<std::string>());
      }
    }
  }
  if (findings.is_object() && findings.contains("findings")) {
    for (std::size_t i = 1; i <= findings["findings"].size(); ++i) {
      moments.push_back(fmt::format("finding:{}", i));
    }
  }
  for (const std::string& thread : threads_of(info)) moments.push_back("start:" + thread);
  moments.resize(std::min(moments.size(), kMostMoments));
  for (const std::string& moment : moments) add_moment(answers, moment);
}

// The functions in which most was executed, by a flame graph.
std::vector<std::string> hottest(const Json& flame) {
  std::map<std::string, std::uint64_t> sums;
  if (!flame.is_object()) return {};
  for (const Json& node : flame["nodes"]) {
    const auto name = node[0].get<std::int64_t>();
    if (name < 0) continue;
    const Json& named = flame["names"][static_cast<std::size_t>(name)];
    sums[named["name"].get<std::string>()] += node[2].get<std::uint64_t>();
  }
  std::vector<std::pair<std::uint64_t, std::string>> all;
  all.reserve(sums.size());
  for (const auto& [name, sum] : sums) all.emplace_back(sum, name);
  std::ranges::sort(all, std::ranges::greater{});
  std::vector<std::string> out;
  for (const auto& [sum, name] : all) {
    if (out.size() < kMostFunctions) out.push_back(name);
  }
  return out;
}

// Flame graphs and call tree of a part (empty: all), the code of what ran most there, and the
// longest calls.
void add_sums(Answers& answers, const Json& part) {
  Json first;
  for (const char* by : {"instructions", "time", "calls"}) {
    Json question = part;
    question["by"] = by;
    Json flame = answers.add("flame", question);
    if (first.is_null()) first = std::move(flame);
    question["invert"] = true;
    answers.add("flame", question);
  }
  for (const std::string& name : hottest(first)) answers.add("code", {{"function", name}});
  add_tree(answers, part);
}

// The part with which the page begins where little of the time has anything (main.ts).
void narrow(const Json& info, Drawn& drawn) {
  std::uint64_t first = drawn.to, last = 0;
  for (const Json& process : info["processes"]) {
    for (const Json& thread : process["threads"]) {
      if (!thread["first_ns"].is_number()) continue;
      first = std::min(first, thread["first_ns"].get<std::uint64_t>());
      last = std::max(last, thread["last_ns"].get<std::uint64_t>());
    }
  }
  if (last <= first || last - first > drawn.to / 2) return;
  const std::uint64_t room = (last - first) / 20 + 1;
  drawn.from = first - std::min(first, room);
  drawn.to = std::min(drawn.to, last + room);
}

void add_timeline(Answers& answers, const Json& info, const Json& part) {
  LongCalls calls;
  for (const char* axis : {"instructions", "time"}) {
    const bool time = *axis == 't';
    if (time && (!info.value("has_time", false) || info["can"]["samples_only"])) continue;
    if (!part.empty() && part["axis"] != axis) continue;
    add_whole_lanes(answers, info, axis);
    Drawn drawn{.axis = axis, .to = length_of(info, axis), .lanes = lanes_of(info)};
    if (part.empty() && time) narrow(info, drawn);
    if (!part.empty()) {
      drawn.from = part["from"].get<std::uint64_t>();
      drawn.to = part["to"].get<std::uint64_t>();
      if (part.contains("thread")) drawn.lanes = {Json{{"thread", part["thread"]}}};
    }
    add_tiles(answers, drawn, calls);
  }
  for (const std::string& moment : calls.longest()) add_moment(answers, moment);
}

std::string lacks_of(const Json& part) {
  return fmt::format(
      "This file was written by hodo view --html{}. It has the report, findings, coverage, flame "
      "graphs and the upper call tree of {}, the timeline to a depth of {} steps of zoom, the code "
      "of the {} hottest functions, the longest {} calls and the moments where threads begin and "
      "end. Other moments, ranges, lists of calls, flow graphs, search and differences need the "
      "recording and hodo view.",
      part.empty() ? "" : " of a part of a recording", part.empty() ? "the whole recording" : "it",
      kTileLevels - 1, kMostFunctions, kMostCalls);
}

// What the views of two recordings ask. False: they cannot be compared.
bool add_differences(Answers& answers, const std::string& other) {
  const Json diff = answers.add("diff", {{"other", other}});
  if (diff.is_null()) return false;
  for (const char* by : {"instructions", "time", "calls"}) {
    answers.add("flame", {{"by", by}, {"other", other}});
    answers.add("flame", {{"by", by}, {"other", other}, {"invert", true}});
  }
  for (const Json& path : diff["paths"]) {
    if (path.contains("first")) add_moment(answers, path["first"]["a"]["moment"]);
  }
  return true;
}

}  // namespace

Result<std::string> answers_for_file(serve::Workspace& workspace, const Json& part,
                                     const std::string& begin, const std::string& other) {
  Answers answers(workspace);
  const Json info = answers.add("info", Json::object());
  if (info.is_null() || (!other.empty() && !add_differences(answers, other))) {
    return std::unexpected(answers.error());
  }
  answers.add("report", Json::object());
  const Json ends = answers.add("ends", Json::object());
  const Json findings = answers.add("findings", Json::object());
  answers.add("coverage", Json{{"parts", Json::array({"functions"})}, {"limit", 0}});
  answers.add("notes", Json::object());
  add_sums(answers, part);
  add_timeline(answers, info, part);
  add_moments(answers, info, ends, findings);
  return fmt::format("{{\"begin\":{},\"lacks\":{},{}}}", serve::one_line(Json(begin)),
                     serve::one_line(Json(lacks_of(part))), answers.text());
}

}  // namespace hodo::cli
