#include "view_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <nlohmann/json.hpp>
#include <queue>
#include <set>
#include <vector>

#include "hodo/serve/method.h"
#include "hodo/serve/rpc.h"

namespace hodo::cli {
namespace {

using serve::Json;

constexpr std::size_t kMostBytes = std::size_t{16} << 20;
constexpr std::size_t kMostTileBytes = std::size_t{2} << 20;  // of each axis
constexpr int kTileLevels = 6;    // the whole recording in one, two, four ... 32 pieces
constexpr int kTileWidth = 1024;  // as timeline/tiles.ts asks
constexpr std::size_t kMostThreads = 64;
constexpr std::size_t kMostTreeRows = 100;
constexpr std::size_t kMostFunctions = 16;
constexpr std::size_t kMostMoments = 12;

class Answers {
 public:
  explicit Answers(serve::Workspace& workspace) : workspace_(&workspace) {}

  // Asks and keeps. Null: there is no answer, or no room for it.
  Json add(std::string_view method, const Json& params) {
    const std::string question = question_of(method, params);
    if (!asked_.insert(question).second || text_.size() >= kMostBytes) return nullptr;
    auto answer = serve::ask(*workspace_, method, params);
    if (!answer) {
      error_ = answer.error();
      return nullptr;
    }
    if (method == "coverage") leave_out_places(*answer);
    const std::string line = serve::one_line(*answer);
    if (line.size() > kMostBytes - text_.size()) return nullptr;
    if (!text_.empty()) text_ += ",\n";
    text_ += serve::one_line(Json(question)) + ":" + line;
    return std::move(*answer);
  }

  std::size_t size() const { return text_.size(); }
  const Error& error() const { return error_; }
  const std::string& text() const { return text_; }

 private:
  // What the page shows is functions and sums: blocks, edges and lines would be most of the file.
  static void leave_out_places(Json& coverage) {
    for (Json& module : coverage["modules"]) {
      for (const char* places : {"blocks", "edges", "lines"}) module.erase(places);
    }
  }

  // As question_key() in rpc.ts: members in the order of their names.
  static std::string question_of(std::string_view method, const Json& params) {
    const nlohmann::json sorted = params;
    return fmt::format("{} {}", method,
                       sorted.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  }

  serve::Workspace* workspace_;
  std::set<std::string> asked_;
  std::string text_;
  Error error_;
};

std::uint64_t longest_thread(const Json& info) {
  std::uint64_t most = 1;
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

// The timeline, level by level, so that what there is no room for is the finest.
void add_tiles(Answers& answers, const Json& info, std::string_view axis, std::uint64_t length) {
  const std::size_t begin = answers.size();
  const auto whole = static_cast<int>(std::bit_width(std::max<std::uint64_t>(length, 2) - 1));
  for (int level = whole; level >= std::max(0, whole - kTileLevels + 1); --level) {
    const std::uint64_t span = std::uint64_t{1} << level;
    for (const std::string& thread : threads_of(info)) {
      for (std::uint64_t from = 0; from < length; from += span) {
        if (answers.size() - begin > kMostTileBytes) return;
        answers.add("tile", {{"thread", thread},
                             {"axis", axis},
                             {"from", from},
                             {"to", from + span},
                             {"width", kTileWidth}});
      }
    }
  }
}

// The paths on which most ran.
void add_tree(Answers& answers) {
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
  take(answers.add("tree", Json::object()), {});
  for (std::size_t rows = 0; rows < kMostTreeRows && !open.empty(); ++rows) {
    const std::vector<std::string> path = open.top().path;
    open.pop();
    take(answers.add("tree", {{"path", path}}), path);
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

void add_functions(Answers& answers, const Json& report) {
  if (!report.is_object() || !report.contains("functions")) return;
  std::size_t added = 0;
  for (const Json& function : report["functions"]) {
    if (++added > kMostFunctions) return;
    answers.add("code", {{"function", function["function"]}});
  }
}

}  // namespace

Result<std::string> answers_for_file(serve::Workspace& workspace) {
  Answers answers(workspace);
  const Json info = answers.add("info", Json::object());
  if (info.is_null()) return std::unexpected(answers.error());
  const Json report = answers.add("report", Json::object());
  const Json ends = answers.add("ends", Json::object());
  const Json findings = answers.add("findings", Json::object());
  for (const char* method : {"coverage", "notes"}) answers.add(method, Json::object());
  for (const char* by : {"instructions", "time", "calls"}) {
    answers.add("flame", {{"by", by}});
    answers.add("flame", {{"by", by}, {"invert", true}});
  }
  add_functions(answers, report);
  add_moments(answers, info, ends, findings);
  add_tree(answers);
  add_tiles(answers, info, "instructions", longest_thread(info));
  if (info.value("has_time", false)) {
    add_tiles(answers, info, "time",
              std::max<std::uint64_t>(1, info.value("duration_ns", std::uint64_t{0})));
  }
  return fmt::format(
      "{{\"lacks\":\"This file was written by hodo view --html. It has the report, findings, "
      "coverage, flame graphs of the whole recording, the timeline to a depth of {} steps of zoom, "
      "the upper call tree, the code of the {} hottest functions and the moments where threads "
      "begin and end. Other moments, ranges, lists of calls, flow graphs, search and differences "
      "need the recording and hodo view.\",\"answers\":{{{}}}}}",
      kTileLevels - 1, kMostFunctions, answers.text());
}

}  // namespace hodo::cli
