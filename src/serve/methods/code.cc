// A function's source and instructions with how often they ran; a source file with its lines.
#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "hodo/base/written_bytes.h"
#include "hodo/serve/covering.h"
#include "hodo/view/annotated.h"
#include "hodo/view/losses.h"
#include "hodo/view/source_text.h"
#include "methods.h"
#include "schema.h"

namespace hodo::serve {
namespace {

constexpr std::uint32_t kLinesAround = 3;
constexpr std::uint32_t kMostBetween = 40;    // lines that nothing comes from, shown all the same
constexpr std::uint32_t kMostLines = 20'000;  // of a file

Json lines_json(const std::map<std::uint32_t, std::string>& lines) {
  Json out = Json::array();
  for (const auto& [number, words] : lines) out.push_back({{"line", number}, {"text", words}});
  return out;
}

// `location`: of the program that it is a source of, session::Object::location().
Json source_json(const std::string& file, const std::string& location,
                 const std::map<std::uint32_t, std::string>& lines) {
  return {{"file", file},
          {"here", !lines.empty()},
          {"newer", view::is_newer(file, location)},
          {"lines", lines_json(lines)}};
}

// What is to be shown of a file where instructions come from these lines: some lines around, and
// not what lies between two that are far apart, as inlined functions are.
std::map<std::uint32_t, std::string> lines_near(const std::string& file,
                                                const std::set<std::uint32_t>& numbers) {
  const std::uint32_t first = *numbers.begin() - std::min(*numbers.begin() - 1, kLinesAround);
  auto lines = view::read_source(file, first, *numbers.rbegin() + kLinesAround);
  std::erase_if(lines, [&](const auto& line) {
    const auto next = numbers.lower_bound(line.first);
    const bool before = next != numbers.end() && *next - line.first <= kLinesAround;
    if (before || next == numbers.begin()) return !before;
    const std::uint32_t last = *std::prev(next);
    if (line.first - last <= kLinesAround) return false;
    return next == numbers.end() || *next - last > kMostBetween;
  });
  while (lines.size() > kMostLines) lines.erase(std::prev(lines.end()));
  return lines;
}

// The text of the lines that the instructions come from, with some around them.
Json sources_json(const Json& annotated, const std::string& location) {
  std::map<std::string, std::set<std::uint32_t>> numbers;
  for (const Json& line : annotated["lines"]) {
    numbers[line["file"].get<std::string>()].insert(line["line"].get<std::uint32_t>());
  }
  Json out = Json::array();
  for (const auto& [file, lines_of] : numbers) {
    out.push_back(source_json(file, location, lines_near(file, lines_of)));
  }
  return out;
}

Result<Json> function_code(Workspace& workspace, const Json& params, const std::string& function) {
  auto counted = graph_in(workspace, params, function);
  if (!counted) return std::unexpected(counted.error());
  const view::Annotated what(counted->graph, workspace.session());
  Json out = view::annotated_json(what, false);
  out["losses"] = view::losses_json(counted->losses, workspace.session().clock());
  out["source"] = sources_json(out, what.program.location());
  return out;
}

// A file is shown if lines of it ran: nothing else of the machine's files can be asked for.
Result<Json> file_code(Workspace& workspace, const std::string& file) {
  auto covered = workspace.covered();
  if (!covered) return std::unexpected(covered.error());
  std::map<std::uint32_t, std::uint64_t> counts;
  std::string location;
  for (const analyze::CoveredModule& module : (*covered)->modules) {
    const auto it = std::ranges::find(module.files, file);
    if (it == module.files.end()) continue;
    const auto number = static_cast<std::uint32_t>(it - module.files.begin());
    for (const analyze::CoveredLine& line : module.lines) {
      if (line.file == number) counts[line.line] += line.count;
    }
    location = module.location;
  }
  if (counts.empty()) {
    return fail(ErrorCode::not_found, "no lines of '" + file +
                                          "' are known to this recording; "
                                          "remedy: 'search' finds the files that are");
  }
  const auto lines = view::read_source(file, 1, kMostLines);
  Json by_line = Json::array();
  for (const auto& [line, count] : counts) {
    by_line.push_back({{"file", file}, {"line", line}, {"count", count}});
  }
  return Json{{"file", file},
              {"lines", std::move(by_line)},
              {"source", Json::array({source_json(file, location, lines)})},
              {"losses", view::losses_json((*workspace.counted())->outcome.losses,
                                           workspace.session().clock())}};
}

Result<Json> answer_code(Workspace& workspace, const Json& params) {
  const auto what = one_in(params, {"function", "address", "file"});
  if (!what) return std::unexpected(what.error());
  const bool is_file = !text_in(params, "file").empty();
  return is_file ? file_code(workspace, written_bytes(*what))
                 : function_code(workspace, params, *what);
}

Json code_parameters() {
  Json out = graph_parameters();
  out["properties"]["file"] = schema::string("a source file, as this method and search name it");
  return out;
}

Json code_result() {
  using namespace schema;
  Json line = object({{"file", string("source file")},
                      {"line", number("from 1")},
                      {"count", number("executions of its most executed instruction")}},
                     {"file", "line", "count"});
  Json source =
      object({{"file", string("source file")},
              {"here", flag("it can be read on this machine")},
              {"newer", flag("it was written to after the program: its lines may be others now")},
              {"lines",
               list(object({{"line", number("from 1")}, {"text", string("")}}, {"line", "text"}))}},
             {"file", "here", "newer", "lines"});
  return object({{"function", string("its name")},
                 {"object", string("the file that it is in")},
                 {"address", string("where it was in the first process that ran it")},
                 {"size", number("bytes")},
                 {"entered", number("executions of its first instruction")},
                 {"undecoded", number("bytes at its end that are no known code")},
                 {"blocks", list(any(), "with their instructions, counts and ways on")},
                 {"lines", list(std::move(line), "that have code")},
                 {"source", list(std::move(source), "text of these lines and around them")},
                 {"file", string("the source file that was asked for")},
                 {"losses", losses()}},
                {"lines", "source", "losses"});
}

}  // namespace

Method code_method() {
  return {"code",
          "A function's source and instructions with how often each ran, as hodo annotate --json, "
          "with the source's text; or a source file.",
          code_parameters, code_result, answer_code};
}

}  // namespace hodo::serve
