#include "hodo/view/source_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "hodo/base/last_component.h"
#include "hodo/image/file.h"
#include "hodo/view/text.h"

namespace hodo::view {
namespace {

constexpr std::size_t kLongestLine = 200;
constexpr std::size_t kTab = 8;  // as terminals have it
constexpr std::uint64_t kMostBytes = std::uint64_t{16} << 20;

// The lines of a file, from the first on. The file need not be one: debug information may name
// anything as a program's source, and lines may have any length.
class LineReader {
 public:
  explicit LineReader(const image::RegularFile& file) : file_(file) {}

  // The next one, valid until the one after; false behind the last.
  bool next(std::string_view& line) {
    std::size_t end = 0;
    while ((end = text_.find('\n', at_)) == std::string::npos && read_more()) {
    }
    if (at_ == text_.size()) return false;
    end = std::min(end, text_.size());
    line = std::string_view(text_).substr(at_, end - at_);
    at_ = std::min(end + 1, text_.size());
    return true;
  }

 private:
  bool read_more() {
    constexpr std::uint64_t kBlock = 64 << 10;
    text_.erase(0, std::exchange(at_, 0));
    std::vector<std::uint8_t> block(std::min(kBlock, kMostBytes - read_));
    const auto got = file_.read_at(read_, block);
    if (!got || *got == 0) return false;
    read_ += *got;
    text_.append(block.begin(), block.begin() + static_cast<std::ptrdiff_t>(*got));
    return true;
  }

  const image::RegularFile& file_;
  std::string text_;  // what has been read and not handed out begins at `at_`
  std::size_t at_ = 0;
  std::uint64_t read_ = 0;
};

std::string shown(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  std::string out;
  while (true) {
    const std::size_t tab = line.find('\t');
    append_printable(out, line.substr(0, tab));
    if (tab == std::string_view::npos || out.size() > 4 * kLongestLine) break;
    out.append(kTab - width(out) % kTab, ' ');
    line.remove_prefix(tab + 1);
  }
  return fit(out, kLongestLine);
}

}  // namespace

std::map<std::uint32_t, std::string> read_source(const std::string& path, std::uint32_t first,
                                                 std::uint32_t last) {
  std::map<std::uint32_t, std::string> out;
  const auto file = image::RegularFile::open(path);
  if (!file) return out;
  LineReader lines(*file);
  std::string_view text;
  for (std::uint32_t line = 1; line <= last && lines.next(text); ++line) {
    if (line >= first) out[line] = shown(text);
  }
  return out;
}

std::string absent_text(const std::string& source) {
  return printable(source) + " is not here; --substitute-path FROM=TO says where sources are";
}

bool is_newer(const std::string& source, const std::string& location) {
  const auto text = image::RegularFile::open(source);
  const auto made = image::RegularFile::open(location);
  return text && made && text->id().mtime_ns > made->id().mtime_ns;
}

std::string newer_text(const std::string& source, const session::Object& program) {
  if (!is_newer(source, program.location())) return "";
  return fmt::format("{} is newer than {}: its lines may be others now", printable(source),
                     printable(last_component(program.path)));
}

}  // namespace hodo::view
