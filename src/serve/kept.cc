// A thing is kept under a key of what it was made from: the recording, and the files whose symbols
// tell calls from jumps.
#include "kept.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "hodo/image/elf.h"
#include "hodo/session/facts.h"
#include "hodo/session/parts.h"

namespace hodo::serve {
namespace {

constexpr std::uint64_t kLong = std::uint64_t{4} << 20;
constexpr std::size_t kEnds = std::size_t{64} << 10;  // of the recording that are read

class Facts {
 public:
  void add(std::uint64_t value) {
    for (unsigned i = 0; i < 8; ++i) bytes_.push_back(static_cast<std::uint8_t>(value >> 8 * i));
  }
  void add(std::span<const std::uint8_t> bytes) {
    add(bytes.size());
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  void add(const std::string& text) {
    add(std::span(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()));
  }
  // Size and time of a file; of one that is not there, that.
  bool add_file(const std::string& path) {
    struct stat st{};
    const bool there = !path.empty() && ::stat(path.c_str(), &st) == 0;
    add(there ? static_cast<std::uint64_t>(st.st_size) : ~std::uint64_t{0});
    add(there ? static_cast<std::uint64_t>(st.st_mtim.tv_sec) : 0);
    add(there ? static_cast<std::uint64_t>(st.st_mtim.tv_nsec) : 0);
    return there;
  }
  text::ModuleCache::Key key() const { return text::ModuleCache::key_of(bytes_); }

 private:
  std::vector<std::uint8_t> bytes_;
};

// The recording's size, time, first and last bytes.
bool add_recording(const std::string& path, Facts& facts) {
  if (!facts.add_file(path)) return false;
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  struct stat st{};
  bool good = ::fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
  std::vector<std::uint8_t> bytes(kEnds);
  for (const off_t at : {off_t{0}, std::max(off_t{0}, st.st_size - static_cast<off_t>(kEnds))}) {
    const ssize_t n = good ? ::pread(fd, bytes.data(), bytes.size(), at) : -1;
    good = n >= 0;
    if (good) facts.add(std::span(bytes).first(static_cast<std::size_t>(n)));
  }
  ::close(fd);
  return good;
}

// A file with code, and where its separate debug file would be.
void add_code(const std::string& path, Facts& facts) {
  facts.add(path);
  if (!facts.add_file(path)) return;
  const auto elf = image::read_elf_file(path);
  if (!elf || elf->build_id.size() < 2) return;
  std::string hex;
  for (const std::uint8_t byte : elf->build_id) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    hex += kDigits[byte >> 4];
    hex += kDigits[byte & 15];
  }
  facts.add_file("/usr/lib/debug/.build-id/" + hex.substr(0, 2) + "/" + hex.substr(2) + ".debug");
  facts.add_file("/usr/lib/debug" + path + ".debug");
  facts.add_file(path + ".debug");
}

}  // namespace

KeptPlace KeptPlace::beside(const std::string& name) const {
  Facts facts;
  facts.add(name);
  facts.add(key_);
  return {cache_, facts.key()};
}

bool is_long(const session::Session& session) {
  std::uint64_t bytes = 0;
  for (const session::Queue& queue : session.queues()) bytes += queue.bytes;
  return bytes >= kLong;
}

std::optional<KeptPlace> kept_place(session::Session& session, const std::string& name) {
  // What is still being written will be another file in a moment.
  const session::Facts* facts_of_file = session.facts();
  if (facts_of_file != nullptr && !facts_of_file->finished) return std::nullopt;
  session::Parts* const parts = session::parts_of(session);
  if (parts == nullptr || !is_long(session)) return std::nullopt;
  Facts facts;
  facts.add(name);
  if (!add_recording(session.path(), facts)) return std::nullopt;
  for (const std::string& path : parts->code_files()) add_code(path, facts);
  auto cache = text::ModuleCache::of_user("recordings");
  if (!cache) return std::nullopt;
  return KeptPlace(std::make_shared<const text::ModuleCache>(std::move(*cache)), facts.key());
}

}  // namespace hodo::serve
