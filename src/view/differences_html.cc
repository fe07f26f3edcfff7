// Differences as one page for a browser.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>

#include "difference_words.h"
#include "hodo/view/differences.h"
#include "hodo/view/html.h"
#include "hodo/view/moments.h"
#include "hodo/view/text.h"

namespace hodo::view {
namespace {

constexpr std::string_view kDifferenceStyle =
    R"(:root { --a: #b3261e; --b: #1a5fb4; }
@media (prefers-color-scheme: dark) { :root { --a: #ff8a80; --b: #8ab8ff; } }
.card { margin: 0 0 1rem; padding: 1rem 1.25rem; background: var(--card);
  border: 1px solid var(--line); border-radius: 6px; }
.card h3 { margin: 0 0 .35rem; font-size: 1rem; overflow-wrap: anywhere; }
.same { color: var(--good); font-weight: 600; }
.parts { color: var(--a); font-weight: 600; }
.sides { display: grid; grid-template-columns: 1fr 1fr; gap: 1rem; margin-top: .75rem; }
@media (max-width: 60rem) { .sides { grid-template-columns: 1fr; } }
.side { min-width: 0; padding-left: .75rem; border-left: 4px solid var(--side); }
.side h4 { margin: 0; color: var(--side); overflow-wrap: anywhere; }
.way { margin: .25rem 0 .5rem; overflow-wrap: anywhere; }
pre { margin: .25rem 0; overflow-x: auto; font-size: 13px; }
td.what { font-family: ui-monospace, "DejaVu Sans Mono", monospace; font-size: 13px;
  overflow-wrap: anywhere; }
)";

constexpr std::size_t kAround = 6;         // lines of source and branches
constexpr std::size_t kMostPartings = 50;  // beside the first

std::string moment_or_dash(const std::optional<ask::Moment>& moment) {
  return moment ? to_string(*moment) : "-";
}

class DifferencePage {
 public:
  explicit DifferencePage(std::size_t top)
      : top_(top), out_(page_begin("hodo diff", kDifferenceStyle)) {}

  std::string make(const DiffView& diff) {
    add("<h1>hodo diff</h1>\n");
    for (const std::string& note : diff.notes) add("<p class=\"lead dim\">{}</p>\n", escaped(note));
    for (const ComparedPaths& paths : diff.paths) card(paths);
    for (const std::string& thread : diff.unpaired) {
      add("<p class=\"card\">{} has no counterpart</p>\n", escaped(thread));
    }
    counts(diff, true);
    counts(diff, false);
    if (!diff.complete && !differs(diff)) add("<p class=\"card\">{}</p>\n", kNoneInWhatWasCompared);
    return finish();
  }

  std::string make(std::span<const ask::Suspect> suspects, std::size_t failing,
                   std::size_t passing) {
    add("<h1>hodo diff</h1>\n<p class=\"lead\">What tells {} failing and {} passing runs apart: "
        "1 is what all failing ones executed and no passing one did.</p>\n",
        failing, passing);
    if (suspects.empty()) {
      add("<p class=\"card\">The failing runs executed nothing that all passing ones did not.</p>\n");
      return finish();
    }
    add("<div class=\"card scroll\"><table>\n<tr><th>score</th><th>failing</th><th>passing</th>"
        "<th>what</th><th>module</th></tr>\n");
    for (const ask::Suspect& s : suspects.first(shown(suspects.size()))) {
      add("<tr><td class=\"number\">{:.3f}</td><td class=\"number\">{}/{}</td>"
          "<td class=\"number\">{}/{}</td>{}</tr>\n",
          s.score, s.failing, failing, s.passing, passing, cells(s.what));
    }
    add("</table>\n");
    more(suspects.size());
    add("</div>\n");
    return finish();
  }

 private:
  template <class... Args>
  void add(fmt::format_string<Args...> text, Args&&... args) {
    fmt::format_to(std::back_inserter(out_), text, std::forward<Args>(args)...);
  }
  std::string finish() {
    out_ += kPageEnd;
    return std::move(out_);
  }
  std::size_t shown(std::size_t count) const { return top_ == 0 ? count : std::min(top_, count); }

  void card(const ComparedPaths& paths) {
    const ask::Comparison& c = paths.comparison;
    add("<article class=\"card\">\n<h3>{} | {}</h3>\n", escaped(paths.a_name),
        escaped(paths.b_name));
    if (c.equal) {
      add("<p class=\"lead\"><span class=\"same\">the same path</span>: {} branch{}</p>\n",
          grouped(c.common), c.common == 1 ? "" : "es");
    } else {
      add("<p class=\"lead\">{}</p>\n", escaped(alike_text(c)));
    }
    if (c.lost) add("<p class=\"parts\">a part of a path was lost</p>\n");
    if (paths.a_scene && paths.b_scene) first(paths);
    others(paths);
    if (c.more) add("<p class=\"dim\">what follows was not compared branch by branch</p>\n");
    add("</article>\n");
  }

  void first(const ComparedPaths& paths) {
    const ask::Scene& at = *paths.a_scene;
    add("<p class=\"lead\"><span class=\"parts\">they part at</span> {}</p>\n"
        "<p class=\"lead dim\">they meet again: {}</p>\n<div class=\"sides\">\n",
        escaped(place_text(*paths.a.session, at.who, at.address, at.time)),
        escaped(meeting_text(paths.comparison)));
    side("a", paths.a, at);
    side("b", paths.b, *paths.b_scene);
    add("</div>\n");
  }

  void side(std::string_view name, const ask::Side& side, const ask::Scene& scene) {
    SceneView view(*side.session, scene, kAround);
    add("<section class=\"side\" style=\"--side: var(--{0})\">\n<h4>{1} {2}</h4>\n"
        "<p class=\"way\">{3}</p>\n",
        name, name == "a" ? "A" : "B", escaped(to_string(scene.moment)),
        escaped(way_text(side, scene)));
    listing("open calls", calls_of_scene(view, {}));
    listing("source", source_of_scene(view, {}));
    listing("branches", branches_of_scene(view, {}));
    add("</section>\n");
  }

  void listing(std::string_view what, const std::string& lines) {
    if (lines.empty()) return;
    add("<details{}><summary>{}</summary><pre>{}</pre></details>\n",
        what == "branches" ? "" : " open", what, escaped_lines(lines));
  }

  void others(const ComparedPaths& paths) {
    const ask::Comparison& c = paths.comparison;
    if (c.partings.size() > 1) {
      const std::size_t count = c.partings.size() - 1;
      table(paths, std::span(c.partings).subspan(1),
            fmt::format("{}{} more parting{}", c.more ? "at least " : "", grouped(count),
                        count == 1 ? "" : "s"));
    }
    if (!c.waits.empty()) table(paths, c.waits, waits_text(c));
  }

  void table(const ComparedPaths& paths, std::span<const ask::Parting> partings,
             const std::string& summary) {
    add("<details><summary>{}</summary>\n<table>\n"
        "<tr><th>A</th><th>B</th><th>part in</th><th>line</th><th>A meets</th><th>B meets</th>"
        "</tr>\n",
        summary);
    for (const ask::Parting* p : some_partings(partings, kMostPartings)) {
      if (p == &partings.back() && partings.size() > kMostPartings) {
        add("<tr><td colspan=\"6\" class=\"dim\">{} more</td></tr>\n",
            grouped(partings.size() - kMostPartings));
      }
      const PartingPlace at = parting_place(paths, *p);
      add("<tr><td>{}</td><td>{}</td><td class=\"what\">{}</td><td class=\"what\">{}</td><td>{}</td>"
          "<td>{}</td></tr>\n",
          to_string(p->a), to_string(p->b), escaped(at.function), escaped(at.line),
          moment_or_dash(p->a_meet), moment_or_dash(p->b_meet));
    }
    add("</table>\n</details>\n");
  }

  static std::string cells(const ask::Executed& what) {
    return fmt::format("<td class=\"what\">{}</td><td class=\"what dim\">{}</td>",
                       escaped(executed_text(what)), escaped(what.module));
  }

  void counts(const DiffView& diff, bool only_one) {
    std::vector<const ask::Difference*> all;
    for (const ask::Difference& d : diff.differences) {
      if ((d.a == 0 || d.b == 0) == only_one) all.push_back(&d);
    }
    if (all.empty()) return;
    add("<h2>{}</h2>\n<div class=\"card scroll\"><table>\n"
        "<tr><th>A</th><th>B</th><th>what</th><th>module</th></tr>\n",
        only_one ? "Only one of them executed" : "Not equally often");
    for (const ask::Difference* d : std::span(all).first(shown(all.size()))) {
      add("<tr><td class=\"number\">{}</td><td class=\"number\">{}</td>{}</tr>\n", grouped(d->a),
          grouped(d->b), cells(d->what));
    }
    add("</table>\n");
    more(all.size());
    add("</div>\n");
  }

  void more(std::size_t count) {
    if (count == shown(count)) return;
    add("<p class=\"dim\">and {} more; --top 0 lists all</p>\n", grouped(count - shown(count)));
  }

  const std::size_t top_;
  std::string out_;
};

}  // namespace

std::string diff_html(const DiffView& diff) { return DifferencePage(diff.top).make(diff); }

std::string suspects_html(std::span<const ask::Suspect> suspects, std::size_t failing,
                          std::size_t passing, std::size_t top) {
  return DifferencePage(top).make(suspects, failing, passing);
}

}  // namespace hodo::view
