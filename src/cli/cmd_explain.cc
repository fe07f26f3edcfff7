// hodo explain RULE: the rule's page, as docs/rules has it.
#include <unistd.h>

#include <memory>
#include <string>

#include "commands.h"
#include "hodo/check/finding.h"
#include "hodo/check/rule_pages.h"
#include "hodo/view/output.h"
#include "reading.h"

namespace hodo::cli {
namespace {

int run(const std::string& rule) {
  view::Output out(STDOUT_FILENO);
  if (rule.empty()) {
    for (const check::Rule& r : check::rules()) {
      out.write(std::string(r.name) + ": " + std::string(r.summary) + "\n");
    }
  } else {
    const check::RulePage* page = check::find_rule_page(rule);
    if (page == nullptr) {
      return report_error("", Error{ErrorCode::usage,
                                    "there is no rule '" + rule + "'; 'hodo explain' lists them"});
    }
    out.write(page->text);
  }
  const Status status = out.finish();
  return status ? kExitOk : report_error("", status.error());
}

}  // namespace

void add_explain(Program& program) {
  auto rule = std::make_shared<std::string>();
  const OptionSet app = program.command(
      "explain",
      {.summary = "say what a rule of 'hodo check' proves and cannot see",
       .description = "Prints the page of the rule that a finding names: what it proves, by what, "
                      "what explains such branches in clean programs, and what it cannot see. "
                      "Without a rule, lists all of them.",
       .examples = {{"hodo explain return.target", "What a finding of this rule means."},
                    {"hodo explain", "All rules, one a line."}},
       .exit_statuses = {{"0", "Done."}, {"2", "There is no such rule."}}},
      [rule] { return run(*rule); });
  std::string names;
  for (const check::RulePage& page : check::rule_pages()) {
    names += (names.empty() ? "" : "|") + std::string(page.rule);
  }
  app.add_option("RULE", *rule, "the rule, as a finding names it").type_name(names);
}

}  // namespace hodo::cli
