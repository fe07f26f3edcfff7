#include <fmt/format.h>

#include <algorithm>

#include "hodo/doctor/report.h"
#include "hodo/view/text.h"

namespace hodo::doctor {
namespace {

using view::Style;
using view::Tone;

constexpr std::size_t kNameColumns = 11;
constexpr std::size_t kVerdictColumns = 9;
constexpr std::size_t kIndent = kNameColumns + kVerdictColumns;

// `text` in lines of at most `columns`, broken at blanks; the first one begins at `indent`, as do
// the others.
std::string wrapped(std::string_view text, std::size_t indent, std::size_t columns) {
  const std::size_t room = std::max<std::size_t>(columns, indent + 20) - indent;
  std::string out;
  std::size_t used = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (used != 0 && used + 1 + view::width(word) > room) {
      out += '\n' + std::string(indent, ' ');
      used = 0;
    }
    if (used != 0) {
      out += ' ';
      ++used;
    }
    out += word;
    used += view::width(word);
  }
  return out;
}

std::string padded(std::string_view text, std::size_t columns) {
  return fmt::format("{:<{}}", text, columns);
}

std::string verdict(const Item& item, const Style& style) {
  switch (item.verdict) {
    case Verdict::yes:
      return style.paint(Tone::good, padded("yes", kVerdictColumns));
    case Verdict::no:
      return style.paint(Tone::bad, padded("no", kVerdictColumns));
    case Verdict::unknown:
      return style.paint(Tone::dim, padded("unknown", kVerdictColumns));
  }
  return {};
}

std::string details(const Item& item) {
  std::string out;
  for (const auto& [name, value] : item.details) {
    out += fmt::format("{}{}: {}", out.empty() ? "" : ", ", name, value);
  }
  return out;
}

std::string item_text(const Item& item, const Style& style) {
  std::vector<std::string> paragraphs;
  if (!item.why.empty()) paragraphs.push_back(item.why);
  if (!item.details.empty()) paragraphs.push_back(details(item));
  if (!item.remedy.empty()) paragraphs.push_back("-> " + item.remedy);
  std::string out =
      style.paint(Tone::title, padded(item.name, kNameColumns)) + verdict(item, style);
  for (std::size_t n = 0; n < paragraphs.size(); ++n) {
    if (n != 0) out += '\n' + std::string(kIndent, ' ');
    out += wrapped(paragraphs[n], kIndent, style.columns);
  }
  while (out.ends_with(' ')) out.pop_back();
  return out + '\n';
}

std::string head_line(std::string_view name, const std::string& value, const Style& style) {
  return style.paint(Tone::title, padded(name, kNameColumns)) +
         wrapped(value, kNameColumns, style.columns) + '\n';
}

// "--source bts, --source lbr and --source step"
std::string enumerated(const std::vector<std::string>& sources) {
  std::string out;
  for (std::size_t n = 0; n < sources.size(); ++n) {
    if (n != 0) out += n + 1 == sources.size() ? " and " : ", ";
    out += "--source " + sources[n];
  }
  return out;
}

std::string source_text(const Report& report) {
  if (report.source == "pt") return "hodo record -- CMD uses Intel PT";
  if (report.source == "dbi") {
    return "hodo record -- CMD runs the program with an engine inside it, which writes what Intel "
           "PT would";
  }
  if (report.source == "qemu") {
    return "hodo record -- CMD runs the program under QEMU, with the software trace unit";
  }
  std::vector<std::string> others = report.without_qemu;
  std::erase(others, "step");
  const std::string processor =
      others.empty() ? "" : "; " + enumerated(others) + " can do without, too";
  if (report.source == "step") {
    return "hodo record -- CMD steps the program, which is slow, and needs QEMU for more, see its "
           "line" +
           processor;
  }
  return "hodo record -- CMD needs QEMU, see its line" + processor;
}

}  // namespace

std::string report_text(const Report& report, const Style& style) {
  std::string out = head_line("processor", report.processor, style);
  out += head_line("hypervisor", report.hypervisor, style);
  if (!report.kernel.empty()) out += head_line("kernel", report.kernel, style);
  out += '\n';
  for (const Item& item : report.items) out += item_text(item, style);
  if (report.kernel.empty()) return out;
  return out + '\n' + head_line("recording", source_text(report), style);
}

}  // namespace hodo::doctor
