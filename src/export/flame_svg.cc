#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "hodo/view/html.h"
#include "hodo/view/text.h"
#include "timeline_text.h"
#include "writers.h"

namespace hodo::exports {
namespace {

using analyze::CallNode;

constexpr double kWidth = 1200;  // pixels
constexpr double kRow = 17;
constexpr double kLetter = 6.6;  // of the font's letters
constexpr double kLeast = 0.2;   // narrower boxes are left out
constexpr double kHead = 30;     // for the title

struct Box {
  std::uint32_t node = 0;
  std::uint32_t depth = 0;
  double x = 0;
  double width = 0;
};

// Warm, and the same for the same file in every picture.
std::string colour(std::string_view object) {
  std::uint32_t hash = 2166136261U;
  for (const char c : object) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return fmt::format("hsl({},{}%,{}%)", hash % 50, 70 + hash / 64 % 25, 60 + hash / 4096 % 15);
}

class Flame {
 public:
  Flame(const analyze::CallTree& tree, const session::Session& session,
        const view::CallsOptions& options, view::Output& out)
      : tree_(tree), session_(session), options_(options), out_(out), totals_(tree.inclusive()) {
    children_.resize(tree.nodes().size());
    for (std::uint32_t i = 1; i < tree.nodes().size(); ++i) {
      const std::uint32_t parent = tree.nodes()[i].parent;
      if (parent != CallNode::kNone) children_[parent].push_back(i);
    }
    for (const analyze::CallThread& thread : tree.threads()) roots_.push_back(thread.root);
    for (const std::uint32_t root : roots_) whole_ += weight(root);
  }

  void write() {
    const std::vector<Box> boxes = layout();
    std::uint32_t deepest = 0;
    for (const Box& box : boxes) deepest = std::max(deepest, box.depth);
    const double height = kHead + (deepest + 1) * kRow + 10;
    out_.write(fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
        "height=\"{1}\">\n"
        "<style>text{{font:11px monospace;pointer-events:none}} rect{{stroke:#fff;stroke-width:.4}} "
        "g:hover rect{{stroke:#000;stroke-width:1}} .t{{font:13px sans-serif}}</style>\n"
        "<rect width=\"100%\" height=\"100%\" style=\"fill:#fff\"/>\n"
        "<text class=\"t\" x=\"6\" y=\"20\">{2}: {3}</text>\n",
        kWidth, height, view::escaped(session_.path()), amount(whole_)));
    for (const Box& box : boxes) write(box, height);
    out_.write("</svg>\n");
  }

 private:
  std::uint64_t weight(std::uint32_t node) const {
    const auto& total = totals_[node];
    return options_.by == view::CallWeight::time ? total.time : total.instructions;
  }
  std::string amount(std::uint64_t weight) const {
    return options_.by == view::CallWeight::time ? view::duration(weight)
                                                 : view::grouped(weight) + " instructions";
  }

  std::vector<Box> layout() {
    std::vector<Box> out;
    if (whole_ == 0) return out;
    const double scale = kWidth / static_cast<double>(whole_);
    const double least = std::max(kLeast, options_.min_percent / 100 * kWidth);
    std::vector<Box> open;
    place(roots_, 0, 0, scale, least, open);
    while (!open.empty()) {
      const Box box = open.back();
      open.pop_back();
      out.push_back(box);
      if (box.depth < options_.depth) {
        place(children_[box.node], box.depth + 1, box.x, scale, least, open);
      }
    }
    return out;
  }
  // Side by side, the costliest first.
  void place(std::vector<std::uint32_t>& nodes, std::uint32_t depth, double x, double scale,
             double least, std::vector<Box>& open) {
    std::ranges::stable_sort(nodes, std::ranges::greater{},
                             [this](std::uint32_t n) { return weight(n); });
    for (const std::uint32_t node : nodes) {
      const double width = static_cast<double>(weight(node)) * scale;
      if (width < least) break;
      open.push_back({node, depth, x, width});
      x += width;
    }
  }

  // What is written on a box, and the file by which it is coloured.
  std::pair<std::string, std::string> label(const Box& box) const {
    if (box.depth != 0) {
      const analyze::Function& function = tree_.functions()[tree_.nodes()[box.node].function];
      return {function.name, function.object};
    }
    const auto threads = tree_.threads();
    const auto thread = std::ranges::find(threads, box.node, &analyze::CallThread::root);
    return {thread_title(session_, {.pid = thread->pid, .tid = thread->tid}), ""};
  }

  void write(const Box& box, double height) {
    const auto [name, object] = label(box);
    const double y = height - 5 - (box.depth + 1) * kRow;
    std::string title = view::escaped(name);
    if (!object.empty()) title += " (" + view::escaped(file_name(object)) + ")";
    const std::uint64_t calls = tree_.nodes()[box.node].calls;
    title +=
        fmt::format(", {}, {}", amount(weight(box.node)), view::percent(weight(box.node), whole_));
    if (calls != 0) title += fmt::format(", {} calls", view::grouped(calls));
    fmt::format_to(std::back_inserter(out_.buffer()),
                   "<g><title>{}</title><rect x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" "
                   "height=\"{}\" fill=\"{}\"/>",
                   title, box.x, y, box.width, kRow - 1, box.depth == 0 ? "#ccc" : colour(object));
    const auto letters = static_cast<std::size_t>(std::max(0.0, (box.width - 4) / kLetter));
    if (letters >= 3) {
      // Cut before it is escaped, so that no entity is.
      fmt::format_to(std::back_inserter(out_.buffer()), "<text x=\"{:.2f}\" y=\"{:.1f}\">{}</text>",
                     box.x + 2, y + 12, view::escaped(view::fit(view::printable(name), letters)));
    }
    out_.write("</g>\n");
  }

  const analyze::CallTree& tree_;
  const session::Session& session_;
  const view::CallsOptions& options_;
  view::Output& out_;
  std::vector<analyze::CallTree::Totals> totals_;
  std::vector<std::vector<std::uint32_t>> children_;
  std::vector<std::uint32_t> roots_;
  std::uint64_t whole_ = 0;
};

}  // namespace

void flame_svg(const analyze::CallTree& tree, const session::Session& session,
               const view::CallsOptions& options, view::Output& out) {
  Flame(tree, session, options, out).write();
}

}  // namespace hodo::exports
