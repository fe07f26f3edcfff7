// What somebody types, looked for among functions, files, lines, addresses, processes and moments.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <vector>

#include "hodo/base/last_component.h"
#include "hodo/base/written_bytes.h"
#include "hodo/session/names.h"
#include "hodo/symbol/demangle.h"
#include "hodo/view/place.h"
#include "methods.h"
#include "overview.h"
#include "schema.h"

namespace hodo::serve {
namespace {

constexpr std::size_t kLimit = 50;

struct Hit {
  int rank = 0;  // 0: what was typed; 1: begins with it; 2: contains it
  std::uint64_t weight = 0;
  Json value;
};

// nullopt: `name` does not have `text` in it, upper and lower case being the same.
std::optional<int> rank_of(std::string_view name, std::string_view text) {
  const auto same = [](char a, char b) {
    const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
    return lower(a) == lower(b);
  };
  const auto found = std::ranges::search(name, text, same);
  if (found.empty() && !text.empty()) return std::nullopt;
  if (name.size() == text.size()) return 0;
  return found.begin() == name.begin() ? 1 : 2;
}

// Which of several functions of one name it is.
std::string mark_of(const session::Names& names, const analyze::CoveredFunction& function) {
  for (const symbol::SymbolTable* table : names.tables()) {
    const symbol::Symbol* const found = table->function_at(function.address);
    const bool is = found != nullptr && found->start == function.address;
    if (is && found->name == function.name) return std::string(table->mark_of(*found));
  }
  return {};
}

void add_functions(const session::Names& names, const analyze::Coverage& covered,
                   const std::string& text, std::vector<Hit>& hits) {
  std::map<std::string_view, std::size_t> times;
  for (const analyze::CoveredModule& module : covered.modules) {
    for (const analyze::CoveredFunction& function : module.functions) {
      if (function.blocks_hit != 0) ++times[function.name];
    }
  }
  for (const analyze::CoveredModule& module : covered.modules) {
    for (const analyze::CoveredFunction& function : module.functions) {
      if (function.blocks_hit == 0) continue;
      std::string name = symbol::demangle(function.name);
      const auto rank = rank_of(name, text);
      if (!rank) continue;
      const bool alone = times[function.name] == 1;
      if (!alone) name = session::full_name({.symbol = name, .mark = mark_of(names, function)});
      Json value{{"kind", "function"}, {"text", name},          {"detail", module.path},
                 {"function", name},   {"object", module.path}, {"calls", function.entered}};
      if (function.line != 0 && function.file < module.files.size()) {
        value["file"] = module.files[function.file];
        value["line"] = function.line;
      }
      if (function.entered != 0) {
        value["moment"] =
            alone ? "call:" + name : fmt::format("call:{}!{}", last_component(module.path), name);
      }
      hits.push_back({*rank, function.entered, std::move(value)});
    }
  }
}

// Source files; with ":42" behind the name a line of them.
void add_files(const analyze::Coverage& covered, const std::string& text, std::vector<Hit>& hits) {
  const std::size_t colon = text.rfind(':');
  std::uint32_t line = 0;
  if (colon != text.npos) {
    std::from_chars(text.data() + colon + 1, text.data() + text.size(), line);
  }
  const std::string name = line == 0 ? text : text.substr(0, colon);
  for (const analyze::CoveredModule& module : covered.modules) {
    for (std::uint32_t i = 0; i < module.files.size(); ++i) {
      const std::string& path = module.files[i];
      const std::string last = path.substr(path.rfind('/') + 1);
      auto rank = rank_of(last, name);
      if (!rank) rank = rank_of(path, name);
      if (!rank) continue;
      std::uint64_t count = 0;
      std::uint32_t first = 0;  // of those that ran
      for (const analyze::CoveredLine& one : module.lines) {
        if (one.file != i || (line != 0 && one.line != line)) continue;
        count += one.count;
        if (one.count != 0 && (first == 0 || one.line < first)) first = one.line;
      }
      if (count == 0) continue;
      Json value{{"kind", "file"}, {"text", path}, {"detail", module.path}, {"file", path}};
      value["moment"] = fmt::format("line:{}:{}", path, first);
      if (line != 0) {
        value["kind"] = "line";
        value["text"] = fmt::format("{}:{}", path, line);
        value["line"] = line;
      }
      value["calls"] = count;
      hits.push_back({*rank, count, std::move(value)});
    }
  }
}

void add_processes(const session::Session& session, const Overview& overview,
                   const std::string& text, std::vector<Hit>& hits) {
  const session::Facts* facts = session.facts();
  if (facts == nullptr) return;
  for (const session::Process& process : facts->processes) {
    const std::string number = std::to_string(process.pid);
    auto rank = rank_of(process.comm, text);
    if (number == text) rank = 0;
    if (!rank) continue;
    const auto ran = std::ranges::find(overview.lanes, process.pid,
                                       [](const Lane& lane) { return lane.total.pid; });
    if (ran == overview.lanes.end()) continue;  // there is nothing to be seen of it
    hits.push_back({*rank,
                    0,
                    {{"kind", "process"},
                     {"text", process.comm + " " + number},
                     {"detail", fmt::format("{} threads", process.threads.size())},
                     {"moment", "start:" + ask::to_string(ran->total.thread)},
                     {"pid", process.pid}}});
  }
}

void add_address(Workspace& workspace, const std::string& text, std::vector<Hit>& hits) {
  if (!text.starts_with("0x")) return;
  std::uint64_t address = 0;
  const auto [end, error] =
      std::from_chars(text.data() + 2, text.data() + text.size(), address, 16);
  if (error != std::errc() || end != text.data() + text.size()) return;
  const session::Facts* facts = workspace.session().facts();
  const std::size_t spaces = facts == nullptr ? 1 : facts->processes.size();
  std::vector<std::string> told;
  for (std::uint32_t space = 0; space < spaces; ++space) {
    const auto place = workspace.session().names().place(space, address, 0);
    if (place.object.empty() && place.symbol.empty()) continue;
    const std::string name = view::describe(address, place, {});
    if (std::ranges::find(told, name) != told.end()) continue;
    told.push_back(name);
    hits.push_back({0,
                    0,
                    {{"kind", "address"},
                     {"text", text},
                     {"detail", name},
                     {"function", place.symbol},
                     {"object", place.object},
                     {"moment", "at:" + text}}});
  }
}

Result<Json> answer_search(Workspace& workspace, const Json& params) {
  const std::string text = written_bytes(text_in(params, "text"));
  const std::size_t limit = number_in(params, "limit", kLimit);
  std::vector<Hit> hits;
  if (const auto spec = ask::parse_moment(text)) {
    hits.push_back({0, 0, {{"kind", "moment"}, {"text", text}, {"detail", ""}, {"moment", text}}});
  }
  add_address(workspace, text, hits);
  auto overview = workspace.overview();
  if (!overview) return std::unexpected(overview.error());
  add_processes(workspace.session(), **overview, text, hits);
  auto covered = workspace.covered();
  if (!covered) return std::unexpected(covered.error());
  add_functions(workspace.session().names(), **covered, text, hits);
  add_files(**covered, text, hits);
  std::ranges::stable_sort(hits, [](const Hit& a, const Hit& b) {
    return a.rank != b.rank ? a.rank < b.rank : a.weight > b.weight;
  });
  Json found = Json::array();
  for (Hit& hit : std::span(hits).first(std::min(limit, hits.size()))) {
    found.push_back(std::move(hit.value));
  }
  return Json{{"found", std::move(found)}, {"more", hits.size() - std::min(limit, hits.size())}};
}

Json search_parameters() {
  using namespace schema;
  return schema::parameters(
      {{"text", string("what to look for, upper and lower case being the same; a "
                       "function that was inlined wherever it ran is not found: ask calls for it")},
       {"limit", number("how many at most (50)", 1)}},
      {"text"});
}

Json search_result() {
  using namespace schema;
  Json one = object(
      {{"kind", one_of({"function", "file", "line", "address", "process", "moment"}, "what it is")},
       {"text", string("its name")},
       {"detail", string("where it is")},
       {"moment", string("to ask for with moment and scene: the first one there")},
       {"function", string("to ask for with code and calls")},
       {"object", string("the file that it is in")},
       {"file", string("source file")},
       {"line", number("in it")},
       {"pid", number("the process")},
       {"calls", number("how often it was entered, or ran")}},
      {"kind", "text", "detail"});
  return object({{"found", list(std::move(one), "what fits best first, then what ran most")},
                 {"more", number("that were found and are not in the list")}},
                {"found", "more"});
}

}  // namespace

Method search_method() {
  return {"search", "Functions, files, lines, addresses, processes and moments by what one types.",
          search_parameters, search_result, answer_search};
}

}  // namespace hodo::serve
