// Findings as one page for a browser.
#include "hodo/view/findings.h"

#include <fmt/format.h>

#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "hodo/check/rule_pages.h"
#include "hodo/view/finding_path.h"
#include "hodo/view/html.h"
#include "hodo/view/losses.h"
#include "hodo/view/place.h"
#include "hodo/view/task_name.h"
#include "hodo/view/text.h"

namespace hodo::view {
namespace {

constexpr std::string_view kStyle =
    R"(:root { --impossible: #b3261e; --unexplained: #a15c00; --unusual: #7a6400; --explained: #4a5560; }
@media (prefers-color-scheme: dark) { :root { --impossible: #ff8a80; --unexplained: #ffb95c;
  --unusual: #e6d060; --explained: #a9b4bf; } }
table.path, .ends { font-family: ui-monospace, "DejaVu Sans Mono", monospace; font-size: 13px; }
.found { color: var(--impossible); font-weight: 600; }
.clean { color: var(--good); font-weight: 600; }
.card { margin: 0 0 1rem; padding: 1rem 1.25rem; background: var(--card);
  border: 1px solid var(--line); border-left: 4px solid var(--grade, var(--line));
  border-radius: 6px; }
.card header { display: flex; flex-wrap: wrap; gap: .75rem; align-items: baseline; }
.card h3 { margin: 0; font: 600 1rem ui-monospace, "DejaVu Sans Mono", monospace; }
.grade { color: var(--grade); font-weight: 600; }
.reason { margin: .35rem 0 .6rem; }
.ends { display: grid; grid-template-columns: max-content 1fr; gap: 0 1rem; margin: 0 0 .5rem;
  overflow-wrap: anywhere; }
.ends dt { color: var(--dim); }
.ends dd { margin: 0; }
pre { overflow-x: auto; white-space: pre-wrap; font-size: 13px; }
a { color: inherit; }
table.path { margin-top: .4rem; width: 100%; table-layout: fixed; overflow-wrap: anywhere; }
table.path td:first-child { width: 5.5rem; }
table.path tr.itself td { background: var(--mark); font-weight: 600; }
)";

class Page {
 public:
  Page(const Checked& checked, const session::Session& session)
      : checked_(checked), session_(session) {}

  std::string make() {
    out_ = page_begin("hodo check", kStyle);
    lead();
    if (!checked_.findings.empty()) rules();
    for (const check::Finding& finding : checked_.findings) card(finding);
    suppressed();
    unjudged();
    losses();
    rule_pages();
    out_ += kPageEnd;
    return std::move(out_);
  }

 private:
  template <class... Args>
  void add(fmt::format_string<Args...> text, Args&&... args) {
    fmt::format_to(std::back_inserter(out_), text, std::forward<Args>(args)...);
  }

  void lead() {
    const std::size_t count = checked_.findings.size();
    add("<h1>hodo check</h1>\n<p class=\"lead\"><span class=\"{}\">{}</span> in {} branches of "
        "<code>{}</code>",
        count == 0 ? "clean" : "found",
        count == 0   ? "No finding"
        : count == 1 ? "1 finding"
                     : grouped(count) + " findings",
        grouped(checked_.branches), escaped(session_.path()));
    if (checked_.explained != 0) add(", {} explained", grouped(checked_.explained));
    if (!checked_.suppressed.empty()) {
      add(", {} suppressed", grouped(checked_.suppressed.size()));
    }
    if (!checked_.complete()) add(", <span class=\"found\">not everything was checked</span>");
    add("</p>\n");
  }

  // How many findings of each rule.
  void rules() {
    std::map<const check::Rule*, std::pair<std::size_t, std::uint64_t>> counts;
    for (const check::Finding& f : checked_.findings) {
      counts[f.rule].first += 1;
      counts[f.rule].second += f.count;
      for (const check::Finding& step : f.steps) counts[step.rule].second += step.count;
    }
    add("<h2>Rules</h2>\n<div class=\"scroll\"><table>\n<tr><th>rule</th><th>findings</th>"
        "<th>times</th><th>what it reports</th></tr>\n");
    for (const auto& [rule, count] : counts) {
      add("<tr><td>{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td>"
          "<td>{}</td></tr>\n",
          rule_link(*rule), grouped(count.first), grouped(count.second), escaped(rule->summary));
    }
    add("</table></div>\n<h2>Findings</h2>\n");
  }

  void card(const check::Finding& finding) {
    const Branch& b = finding.branch;
    const std::string_view grade = name(finding.grade);
    add("<article class=\"card\" style=\"--grade: var(--{0})\">\n<header><h3>{1}</h3>"
        "<span class=\"grade\">{0}</span><span class=\"dim\">{2}</span></header>\n"
        "<p class=\"reason\">{3}</p>\n",
        grade, rule_link(*finding.rule), times(finding.count), escaped(finding.reason));
    if (finding.is_doubtful()) add("<p class=\"dim\">{}</p>\n", kDoubt);
    add("<dl class=\"ends\">\n");
    facts(finding);
    add("<dt>from</dt><dd>{}{}</dd>\n", end(finding, b.from), code(finding.code_from));
    add("<dt>to</dt><dd>{}{}</dd>\n", end(finding, b.to), code(finding.code_to));
    add("<dt>in</dt><dd>process {} ({}), thread {}{}</dd>\n</dl>\n", finding.who.pid,
        escaped(task_name(session_, finding.who.pid, finding.who.tid)), finding.who.tid,
        time_of(b.time));
    steps(finding);
    path(finding);
    add("</article>\n");
  }

  // To the rule's page, which is at the end.
  static std::string rule_link(const check::Rule& rule) {
    std::string name = escaped(rule.name);
    if (check::find_rule_page(rule.name) == nullptr) return name;
    return fmt::format("<a href=\"#{0}\">{0}</a>", name);
  }

  void facts(const check::Finding& finding) {
    for (const check::Fact& fact : finding.facts) {
      const std::string place = fact.address == 0 ? "" : end(finding, fact.address);
      const char* const between = place.empty() || fact.text.empty() ? "" : ": ";
      add("<dt>{}</dt><dd>{}{}{}</dd>\n", escaped(fact.what), place, between, escaped(fact.text));
    }
  }

  static std::string code(const std::vector<check::CodeLine>& lines) {
    std::string out;
    for (const check::CodeLine& line : lines) {
      out +=
          fmt::format("<br><span class=\"dim\">{:x}</span> {}", line.address, escaped(line.text));
    }
    return out;
  }

  void steps(const check::Finding& finding) {
    if (finding.steps.empty()) return;
    add("<p class=\"dim\">Further steps</p>\n<table class=\"path\">\n");
    for (const check::Finding& step : finding.steps) {
      add("<tr><td>{}</td><td>{}</td><td>{}</td><td>{}, {}</td></tr>\n", rule_link(*step.rule),
          place(step, step.branch.from, step.branch.time),
          place(step, step.branch.to, step.branch.time), escaped(step.reason), times(step.count));
    }
    add("</table>\n");
  }

  void suppressed() {
    if (checked_.suppressed.empty() && checked_.unused.empty()) return;
    add("<h2>Suppressed</h2>\n<div class=\"card\"><div class=\"scroll\"><table>\n"
        "<tr><th>rule</th><th>times</th><th>from</th><th>to</th><th>why</th></tr>\n");
    for (const Suppressed& one : checked_.suppressed) {
      const check::Finding& f = one.finding;
      add("<tr><td>{}</td><td class=\"number\">{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
          rule_link(*f.rule), grouped(f.count), place(f, f.branch.from, f.branch.time),
          place(f, f.branch.to, f.branch.time), escaped(one.why));
    }
    add("</table></div>\n");
    for (const std::string& line : checked_.unused) {
      add("<p class=\"dim\">suppresses nothing: <code>{}</code></p>\n", escaped(line));
    }
    add("</div>\n");
  }

  // The pages of the rules that the page speaks of.
  void rule_pages() {
    std::set<std::string_view> names;
    for (const check::Finding& f : checked_.findings) {
      names.insert(f.rule->name);
      for (const check::Finding& step : f.steps) names.insert(step.rule->name);
    }
    for (const Suppressed& one : checked_.suppressed) names.insert(one.finding.rule->name);
    if (names.empty()) return;
    add("<h2>What the rules say</h2>\n");
    for (const std::string_view name : names) {
      const check::RulePage* page = check::find_rule_page(name);
      if (page == nullptr) continue;
      add("<div class=\"card\" id=\"{0}\"><h3>{0}</h3><pre>{1}</pre></div>\n", escaped(name),
          escaped_lines(page->text));
    }
  }

  std::string time_of(std::uint64_t ticks) const {
    session::Clock clock = session_.clock();
    if (ticks == 0 || !clock.known()) return "";
    return ", time " + seconds(clock.nanoseconds(ticks));
  }

  std::string place(const check::Finding& finding, std::uint64_t address,
                    std::uint64_t time) const {
    if (address == 0) return "-";
    const session::Place place = session_.names().place(finding.who.space, address, time);
    return escaped(describe(address, place, {}));
  }

  // With the path of the file and the source line.
  std::string end(const check::Finding& finding, std::uint64_t address) const {
    const std::uint64_t time = finding.branch.time;
    std::string out = place(finding, address, time);
    if (address == 0) return out;
    const session::Object object = session_.names().object(finding.who.space, address, time);
    if (!object.path.empty())
      out += fmt::format(" <span class=\"dim\">{}</span>", escaped(object.path));
    const auto frames = source_of(object);
    if (frames.empty() || frames[0].file.empty()) return out;
    return out + fmt::format("<br>{}:{}", escaped(frames[0].file), frames[0].line);
  }

  void path(const check::Finding& finding) {
    few(finding);
    add("<details><summary>all {} branches before, {} after</summary>\n<table class=\"path\">\n",
        finding.before.size(), finding.after.size());
    for (const Branch& b : finding.before) row(finding, b, false);
    row(finding, finding.branch, true);
    for (const Branch& b : finding.after) row(finding, b, false);
    add("</table></details>\n");
  }

  // Those that matter.
  void few(const check::Finding& finding) {
    add("<table class=\"path\">\n");
    for (const PathLine& line : path_that_matters(finding, session_)) {
      if (line.branch != nullptr) {
        row(finding, *line.branch, line.itself);
      } else {
        add("<tr><td></td><td class=\"dim\">{}</td><td></td></tr>\n", escaped(hidden_text(line)));
      }
    }
    add("</table>\n");
  }

  void row(const check::Finding& finding, const Branch& b, bool itself) {
    add("<tr{}><td>{}</td><td>{}</td><td>{}</td></tr>\n", itself ? " class=\"itself\"" : "",
        name(b.kind), place(finding, b.from, b.time), place(finding, b.to, b.time));
  }

  void unjudged() {
    if (checked_.unjudged.empty() && !checked_.windows) return;
    add("<h2>Not checked</h2>\n<div class=\"card\">\n");
    if (checked_.windows) {
      add("<p class=\"reason\">What ran between the branch stacks; of a return whose call is in "
          "none, only that it goes behind some call.</p>\n");
    }
    if (!checked_.unjudged.empty()) {
      add("<div class=\"scroll\"><table>\n<tr><th>different branches</th><th>in</th><th>why</th>"
          "</tr>\n");
      for (const check::Unjudged& line : checked_.unjudged) {
        add("<tr><td class=\"number\">{}</td><td><code>{}</code></td><td>{}</td></tr>\n",
            grouped(line.branches), escaped(line.path), escaped(line.reason));
      }
      add("</table></div>\n");
    }
    add("</div>\n");
  }

  void losses() {
    if (checked_.losses.empty()) return;
    add("<h2>Losses</h2>\n<div class=\"card\"><pre>{}</pre></div>\n",
        escaped_lines(losses_text(checked_.losses, session_.clock(), {})));
  }

  const Checked& checked_;
  const session::Session& session_;
  std::string out_;
};

}  // namespace

std::string findings_html(const Checked& checked, const session::Session& session) {
  return Page(checked, session).make();
}

}  // namespace hodo::view
