#include "hodo/view/coverage.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "hodo/symbol/demangle.h"
#include "hodo/view/growing.h"
#include "hodo/view/losses.h"
#include "hodo/view/table.h"
#include "hodo/view/text.h"
#include "json_line.h"

namespace hodo::view {
namespace {

using analyze::Coverage;
using analyze::CoveredBlock;
using analyze::CoveredFunction;
using analyze::CoveredLine;
using analyze::CoveredModule;
using Json = nlohmann::ordered_json;

struct Share {
  std::size_t hit = 0;
  std::size_t all = 0;
};

Share functions_of(const CoveredModule& m) {
  auto hit = std::ranges::count_if(m.functions,
                                   [](const CoveredFunction& f) { return f.blocks_hit != 0; });
  return {static_cast<std::size_t>(hit), m.functions.size()};
}

Share blocks_of(const CoveredModule& m) {
  auto hit = std::ranges::count_if(m.blocks, [](const CoveredBlock& b) { return b.count != 0; });
  std::size_t all = m.blocks.size();
  for (const CoveredFunction& f : m.functions) all += f.listed ? 0 : f.blocks;
  return {static_cast<std::size_t>(hit), all};
}

Share lines_of(const CoveredModule& m) {
  auto hit = std::ranges::count_if(m.lines, [](const CoveredLine& l) { return l.count != 0; });
  return {static_cast<std::size_t>(hit), m.lines.size()};
}

// "12/20  60.0%" in two cells; nothing where nothing is known.
void append_cells(std::vector<std::string>& cells, Share share) {
  cells.push_back(share.all == 0 ? "-"
                                 : fmt::format("{}/{}", grouped(share.hit), grouped(share.all)));
  cells.push_back(share.all == 0 ? "" : percent(share.hit, share.all));
}

std::string modules_text(const Coverage& coverage, const Style& style) {
  Table table({{.title = "functions", .align = Align::right},
               {.align = Align::right},
               {.title = "blocks", .align = Align::right},
               {.align = Align::right},
               {.title = "lines", .align = Align::right},
               {.align = Align::right},
               {.title = "edges", .align = Align::right},
               {.title = "file", .tone = Tone::name, .shrinks = true, .cut = Cut::beginning}});
  for (const CoveredModule& m : coverage.modules) {
    std::vector<std::string> cells;
    append_cells(cells, functions_of(m));
    // Blocks that did not run are known only of functions.
    Share blocks = blocks_of(m);
    if (m.functions.empty()) {
      cells.push_back(grouped(blocks.hit));
      cells.emplace_back();
    } else {
      append_cells(cells, blocks);
    }
    append_cells(cells, lines_of(m));
    cells.push_back(grouped(m.edges.size()));
    cells.push_back(m.path.empty() ? "[unknown]" : printable(m.path));
    table.add(std::move(cells));
  }
  return table.empty() ? "  nothing ran\n" : table.render(style);
}

std::string position(const CoveredModule& m, const CoveredFunction& f) {
  if (f.line == 0 || f.file >= m.files.size()) return "";
  std::string_view path = m.files[f.file];
  return fmt::format("{}:{}", printable(path.substr(path.rfind('/') + 1)), f.line);
}

std::string functions_text(const Coverage& coverage, std::size_t top, const Style& style) {
  std::vector<std::pair<const CoveredModule*, const CoveredFunction*>> functions;
  for (const CoveredModule& m : coverage.modules) {
    for (const CoveredFunction& f : m.functions) {
      if (f.blocks_hit != 0) functions.emplace_back(&m, &f);
    }
  }
  std::ranges::stable_sort(functions, std::ranges::greater(),
                           [](const auto& entry) { return entry.second->blocks_hit; });
  std::size_t shown = top == 0 ? functions.size() : std::min(top, functions.size());
  Table table({{.title = "blocks", .align = Align::right},
               {.align = Align::right},
               {.title = "entered", .align = Align::right},
               {.title = "function", .tone = Tone::name, .shrinks = true, .cut = Cut::name},
               {.title = "object", .tone = Tone::dim, .shrinks = true},
               {.title = "source", .tone = Tone::dim, .shrinks = true}});
  for (const auto& [m, f] : std::span(functions).first(shown)) {
    std::vector<std::string> cells;
    append_cells(cells, {f->blocks_hit, f->blocks});
    cells.push_back(grouped(f->entered));
    cells.push_back(printable(symbol::demangle(f->name)));
    cells.push_back(printable(std::string_view(m->path).substr(m->path.rfind('/') + 1)));
    cells.push_back(position(*m, *f));
    table.add(std::move(cells));
  }
  if (table.empty()) return "";
  std::string out = "\n" + style.paint(Tone::title, "Functions") + "\n" + table.render(style);
  if (shown < functions.size()) {
    out += fmt::format("  and {} more; --top 0 lists all\n", grouped(functions.size() - shown));
  }
  return out;
}

// `"name":[` each of `items` as `write` has it `]`.
template <class Items, class Write>
void write_list(Output& out, std::string_view name, const Items& items, Write write) {
  out.write(fmt::format(",\n  \"{}\":[", name));
  bool first = true;
  for (const auto& item : items) {
    out.write(first ? "\n   " : ",\n   ");
    write(item, std::back_inserter(out.buffer()));
    out.checkpoint();
    first = false;
  }
  out.write("]");
}

void write_module(const CoveredModule& m, Output& out) {
  Share functions = functions_of(m);
  Share blocks = blocks_of(m);
  Share lines = lines_of(m);
  Json head{{"path", m.path},
            {"base", fmt::format("{:#x}", m.base)},
            {"functions_hit", functions.hit},
            {"functions_total", functions.all},
            {"blocks_hit", blocks.hit},
            {"blocks_total", blocks.all},
            {"lines_hit", lines.hit},
            {"lines_total", lines.all}};
  std::string text = json_line(head);
  text.pop_back();
  out.write(text);
  write_list(out, "functions", m.functions, [](const CoveredFunction& f, auto to) {
    Json value{{"name", symbol::demangle(f.name)},
               {"address", fmt::format("{:#x}", f.address)},
               {"size", f.size},
               {"entered", f.entered},
               {"blocks_hit", f.blocks_hit},
               {"blocks", f.blocks}};
    if (f.synthetic) value["synthetic"] = true;
    if (f.line != 0) value["file"] = f.file;
    if (f.line != 0) value["line"] = f.line;
    fmt::format_to(to, "{}", json_line(value));
  });
  write_list(out, "blocks", m.blocks, [](const CoveredBlock& b, auto to) {
    fmt::format_to(to, R"({{"address":"{:#x}","size":{},"count":{}}})", b.address, b.size, b.count);
  });
  write_list(out, "edges", m.edges, [](const analyze::CoveredEdge& e, auto to) {
    fmt::format_to(to, R"({{"from":"{:#x}","to":"{:#x}","to_module":{},"kind":"{}","taken":{},)",
                   e.from, e.to, e.to_module, name(e.kind), !e.not_taken);
    fmt::format_to(to, R"("count":{}}})", e.count);
  });
  write_list(out, "files", m.files,
             [](const std::string& path, auto to) { fmt::format_to(to, "{}", json_line(path)); });
  write_list(out, "lines", m.lines, [](const CoveredLine& l, auto to) {
    fmt::format_to(to, R"({{"file":{},"line":{},"count":{}}})", l.file, l.line, l.count);
  });
  out.write("}");
}

}  // namespace

std::string coverage_text(const Coverage& coverage, std::size_t top, const Style& style) {
  std::string out = style.paint(Tone::title, "Files") + "\n" + modules_text(coverage, style);
  out += functions_text(coverage, top, style);
  if (coverage.dropped != 0) {
    out += fmt::format("\n{} branches are not counted: there are too many different ones\n",
                       grouped(coverage.dropped));
  }
  return out;
}

void write_coverage_json(const Coverage& coverage, const session::Session& session,
                         const session::Outcome& outcome, Output& out) {
  out.write("{\n\"file\": " + json_line(session.path()));
  out.write(fmt::format(",\n\"complete\": {}", outcome.complete()));
  out.write(fmt::format(",\n\"dropped\": {}", coverage.dropped));
  if (const auto said = growing_json(session); !said.is_null()) {
    out.write(",\n\"growing\": " + json_line(said));
  }
  out.write(",\n\"losses\": " + json_line(losses_json(outcome.losses, session.clock())));
  out.write(",\n\"modules\": [");
  bool first = true;
  for (const CoveredModule& m : coverage.modules) {
    out.write(first ? "\n " : ",\n ");
    write_module(m, out);
    first = false;
  }
  out.write("]\n}\n");
}

}  // namespace hodo::view
