// hodo check: executed branches against what the program's text and call history allow.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "asking.h"
#include "checking.h"
#include "commands.h"
#include "format_option.h"
#include "hodo/check/checker.h"
#include "hodo/check/suppressions.h"
#include "hodo/view/findings.h"
#include "hodo/view/losses.h"
#include "hodo/view/output.h"
#include "hodo/view/progress.h"
#include "output_file.h"
#include "reading.h"
#include "version.h"

namespace hodo::cli {
namespace {

struct CheckOptions {
  ReadingOptions reading;
  WindowInput window;
  std::string format = "text";  // json, html, or one of exports::findings_formats()
  std::string output;           // empty: standard output
  std::vector<std::string> only;
  std::vector<std::string> without;
  std::string baseline;  // empty: none; as learn
  std::string learn;
  std::string suppress;
  check::Jit jit = check::Jit::known;
  bool all_branches = false;
  bool no_cache = false;
  bool allow_incomplete = false;
  bool explained = false;
};

const Manual kCheckManual{
    .summary = "judge every branch: was the program allowed to go there?",
    .description =
        "Holds each executed branch against the text of the file that it lies in and against the"
        " calls that are open, and reports what neither explains: returns to where no call was,"
        " indirect calls into the middle of functions, code that differs from its file or is in"
        " none, chains of gadgets, calls of library functions that lead elsewhere, libraries that"
        " nobody asked for.\n\n"
        "Each finding says which rule found it, how sure it is, how often it happened, and shows"
        " the branches around its first time. Grades: impossible (no such branch, no such call),"
        " unexplained (nothing was seen that explains it), unusual (legal, and what attackers do)."
        " What looked wrong and was explained is counted, and shown with --explained.\n\n"
        "Signals, longjmp, C++ and Rust exceptions, coroutines, tail calls and jump tables are"
        " modelled and give no findings. Code made at run time is explained where a known"
        " generator (Java, V8, LuaJIT, PCRE, libffi and others) made it, or is loaded where nobody"
        " knows who did, or where a file of the program did, by itself and not as a copy; --jit"
        " allow takes all"
        " such code for that, --jit report reports it whoever made it. Attacks that only change"
        " data leave no trace in the branches.\n\n"
        "What goes wrong within 32 branches of a thread is one attack and one finding, with the"
        " rest as its further steps; so is an injected library with the calls that lead to it."
        " --suppress FILE leaves out what FILE has a line for, RULE |"
        " FROM => TO | REASON, and counts and lists it in every format; what is left is shown with"
        " the line that would suppress it.\n\n"
        "--learn FILE adds the indirect calls and jumps of a run to a baseline, unless it has"
        " findings of other rules than call.sensitive, and says which are new since the runs before; do"
        " so for any number of runs. --baseline"
        " FILE then reports those that none of them took, which also shows a pointer that was set"
        " to a function of the right kind, and no call.sensitive that was learned.\n\n"
        "A clean result counts only for what was seen: where a part of the trace was lost, a file"
        " cannot be read, or the recording is of branch stacks (LBR), which are windows, the exit"
        " status is 3. So it is where all findings are doubtful: made where the trace is lost, from"
        " whose damage they may come.",
    .examples = {{"hodo check", "Judge the last recording."},
                 {"hodo check --rule return.target --rule chain.rop run.data", "Two rules only."},
                 {"hodo check --learn ls.base ls.data", "Learn what a clean run does."},
                 {"hodo check --baseline ls.base", "Report what no learned run did, too."},
                 {"hodo check --suppress known.txt", "Leave out what was looked at."},
                 {"hodo check --json | jq -r '.findings[].rule'", "For programs."},
                 {"hodo check --format html -o check.html", "A page to hand on."},
                 {"hodo check --format sarif -o check.sarif", "For code scanning services."}},
    .exit_statuses = {{"0", "Nothing was found, and everything was checked."},
                      {"1", "Something was found that is not doubtful."},
                      {"2", "Wrong use, or a recording that cannot be read or checked."},
                      {"3", "Nothing else was found, but not everything could be checked."}}};

Result<std::vector<const check::Rule*>> chosen(const CheckOptions& options) {
  std::vector<const check::Rule*> out;
  for (const auto* names : {&options.only, &options.without}) {
    for (const std::string& name : *names) {
      if (check::find_rule(name) == nullptr) {
        return fail(ErrorCode::usage,
                    "there is no rule '" + name + "'; 'hodo check --help' lists them");
      }
    }
  }
  for (const check::Rule& rule : check::rules()) {
    const bool named = std::ranges::find(options.only, rule.name) != options.only.end();
    const bool off = std::ranges::find(options.without, rule.name) != options.without.end();
    if ((options.only.empty() || named) && !off) out.push_back(&rule);
  }
  if (out.empty()) return fail(ErrorCode::usage, "no rule is left to check");
  if (!options.baseline.empty() && !options.learn.empty()) {
    return fail(ErrorCode::usage, "--baseline and --learn exclude each other");
  }
  if (options.learn == "-") {
    return fail(ErrorCode::usage,
                "--learn -: a baseline is read before it is written; name a file (--learn ./- for "
                "one of this name)");
  }
  const bool named = std::ranges::find(options.only, "baseline.new") != options.only.end();
  if (named && options.baseline.empty()) {
    return fail(ErrorCode::usage, "the rule baseline.new needs --baseline FILE");
  }
  return out;
}

// `baseline` is held against the recording, or learns from it.
Result<view::Checked> check_session(const CheckOptions& options, session::Session& session,
                                    std::vector<const check::Rule*> rules,
                                    check::Baseline& baseline,
                                    const check::Suppressions& suppressions) {
  const auto cache = options.no_cache ? std::nullopt : text::ModuleCache::of_user();
  view::Progress progress("checking");
  const Asking asking = asking_of(session, options.reading, progress, options.window.has_moments());
  auto window = serve::window_of(session, options.window, asking.how);
  if (!window) return std::unexpected(window.error());
  auto checked =
      serve::judge(session,
                   {.rules = std::move(rules),
                    .jit = options.jit,
                    .baseline = options.baseline.empty() ? nullptr : &baseline,
                    .learn = options.learn.empty() ? nullptr : &baseline,
                    .cache = cache ? &*cache : nullptr},
                   {.selection = selection_of(options.reading), .progress = told_to(progress)},
                   *window, suppressions);
  progress.clear();
  if (checked && !options.explained) serve::hide_explained(*checked);
  return checked;
}

std::string rendered(const std::string& format, const view::Checked& checked,
                     const session::Session& session, const view::Style& style, bool all_branches) {
  if (format == "json") return view::json_text(view::findings_json(checked, session));
  if (format == "html") return view::findings_html(checked, session);
  if (const auto* exported = exports::find(exports::findings_formats(), format)) {
    return exported->write(checked, session, version());
  }
  return view::findings_text(checked, session, style, all_branches);
}

Status show(const CheckOptions& options, const view::Checked& checked,
            const session::Session& session) {
  const std::string format = options.reading.json ? "json" : options.format;
  auto file =
      OutputFile::open(options.output, {options.reading.file, options.baseline, options.suppress});
  if (!file) return std::unexpected(file.error());
  const int fd = file->fd();
  view::Output out(fd);
  out.write(rendered(format, checked, session, view::style_for(fd, options.reading.color),
                     options.all_branches));
  const Status written = out.finish();
  return written ? file->keep() : written;
}

// The one that is compared with, or the one to add to, which need not be there yet.
Result<check::Baseline> read_baseline(const CheckOptions& options) {
  if (!options.baseline.empty()) return check::Baseline::load(options.baseline);
  if (options.learn.empty()) return check::Baseline();
  auto before = check::Baseline::load(options.learn);
  if (!before && before.error().code == ErrorCode::not_found) return check::Baseline();
  return before;
}

Result<check::Suppressions> read_suppressions(const CheckOptions& options) {
  if (options.suppress.empty()) return check::Suppressions();
  return check::Suppressions::load(options.suppress);
}

// What a run with findings does is not to be learned, but for calls of sensitive functions: whether
// such a pointer is what the program wants is what a baseline is there to say.
Status keep_learned(const CheckOptions& options, const check::Baseline& baseline,
                    std::size_t before, const view::Checked& checked,
                    const session::Session& session) {
  std::size_t sensitive = 0;
  const check::Rule* const allowed = check::find_rule("call.sensitive");
  const auto is_other = [&](const check::Finding& f) { return f.rule != allowed; };
  for (const check::Finding& finding : checked.findings) {
    if (serve::is_explained(finding)) continue;
    if (is_other(finding) || std::ranges::any_of(finding.steps, is_other)) {
      fmt::print(stderr, "hodo: {}: nothing was learned, since this run has findings\n",
                 options.learn);
      return {};
    }
    sensitive += 1 + finding.steps.size();
  }
  if (sensitive != 0) {
    fmt::print(stderr,
               "hodo: {}: learned with the findings of call.sensitive ({}), which will not be"
               " reported with this baseline; if the program is not to do so, remove the file\n",
               options.learn, sensitive);
  }
  if (Status status = baseline.save(options.learn); !status) return status;
  fmt::print(stderr, "hodo: {}: {} indirect branches, {} of them new{}\n", options.learn,
             baseline.edges(), baseline.edges() - before,
             baseline.full() ? "; it is full and learns no more" : "");
  // Of a first run all is new.
  if (before != 0 && checked.learned) {
    view::Output(STDERR_FILENO).write(view::learned_text(*checked.learned, session));
  }
  return {};
}

int run(const CheckOptions& options) {
  auto rules = chosen(options);
  if (!rules) return report_error(options.reading.file, rules.error());
  auto baseline = read_baseline(options);
  if (!baseline) return report_error(options.baseline + options.learn, baseline.error());
  const auto suppressions = read_suppressions(options);
  if (!suppressions) return report_error(options.suppress, suppressions.error());
  const std::size_t before = baseline->edges();
  return with_session(options.reading, [&](session::Session& session) -> Result<Shown> {
    auto checked = check_session(options, session, std::move(*rules), *baseline, *suppressions);
    if (!checked) return std::unexpected(checked.error());
    checked->teach_suppressing = !options.suppress.empty();
    if (checked->learned) {
      checked->learned->edges = baseline->edges();
      checked->learned->fresh = baseline->edges() - before;
    }
    if (Status status = show(options, *checked, session); !status) {
      return std::unexpected(status.error());
    }
    const int status = status_of(*checked, options.allow_incomplete);
    if (!options.learn.empty()) {
      const Status kept = keep_learned(options, *baseline, before, *checked, session);
      if (!kept) return std::unexpected(kept.error());
    }
    return Shown{.status = status};
  });
}

std::string rule_help(const char* lead) {
  std::string out = lead;
  for (const check::Rule& rule : check::rules()) {
    out += &rule == check::rules().data() ? ": " : "; ";
    out += std::string(rule.name) + " (" + std::string(rule.summary) + ")";
  }
  return out;
}

}  // namespace

void add_check(Program& program) {
  auto options = std::make_shared<CheckOptions>();
  const OptionSet app = program.command("check", kCheckManual, [options] { return run(*options); });
  add_input_options(app, options->reading);
  add_format(app, "--format", options->format, {"text", "json", "html"},
             "how to write it: for people (text, the default, or html, one page without"
             " scripts), or for programs (json, or SARIF 2.1.0)",
             exports::findings_formats());
  app.add_flag("--json", options->reading.json, "the same as --format json");
  app.add_option("-o,--output", options->output, "write to FILE instead of standard output (-)")
      .type_name("FILE");
  std::string names;
  for (const check::Rule& rule : check::rules()) {
    names += (names.empty() ? "" : "|") + std::string(rule.name);
  }
  app.add_option("--rule", options->only,
                 rule_help("check this rule and others so named only; may be given several times"))
      .type_name(names)
      .one_at_a_time();
  app.add_option("--no-rule", options->without, "leave this rule out; may be given several times")
      .type_name(names)
      .one_at_a_time();
  app.add_option("--baseline", options->baseline,
                 "report indirect calls and jumps that FILE does not hold")
      .type_name("FILE");
  app.add_option(
         "--learn", options->learn,
         "add those of this run to FILE, unless something else than call.sensitive is found")
      .type_name("FILE");
  app.add_option("--suppress", options->suppress,
                 "leave out findings that FILE has a line for: RULE | FROM => TO | REASON")
      .type_name("FILE");
  add_choice<check::Jit>(
      app, "--jit", options->jit,
      {{"known", check::Jit::known}, {"allow", check::Jit::allow}, {"report", check::Jit::report}},
      "of code that is in no file, explain what a code generator can have made (known, the"
      " default) or all (allow), or report all, once for each process (report)");
  app.add_flag("--all-branches", options->all_branches,
               "show every branch around a finding, not only those that lead from one function to"
               " another");
  app.add_flag("--allow-incomplete", options->allow_incomplete,
               "exit with 0 where nothing was found though not everything could be checked");
  app.add_flag("--no-cache", options->no_cache,
               "analyse all files anew; else what is known of large ones is kept in"
               " ~/.cache/hodoscope");
  app.add_flag("--explained", options->explained, "show what looked wrong and was explained, too");
  add_selection_options(app, options->reading);
  add_window_options(app, options->reading, options->window);
  add_color_option(app, options->reading);
}

}  // namespace hodo::cli
