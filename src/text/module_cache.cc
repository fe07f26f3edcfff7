#include "hodo/text/module_cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <utility>

#include "cache_files.h"
#include "hodo/base/byte_reader.h"
#include "hodo/image/elf.h"
#include "hodo/text/parts_file.h"
#include "sha256.h"

namespace hodo::text {
namespace {

constexpr std::array<char, 8> kMagic = {'h', 'o', 'd', 'o', 'm', 'o', '1', '0'};

struct CacheHeader {
  std::array<char, 8> magic = kMagic;
  ModuleCache::Key key{};
  std::uint64_t size = 0;  // of the analysis
};

Digest digest_of(std::span<const std::uint8_t> bytes) {
  Sha256 sum;
  sum.add(bytes);
  return sum.finish();
}

// A file of the folder.
struct Kept {
  std::pair<std::int64_t, std::int64_t> asked_for;  // as fstat() has it: seconds, nanoseconds
  std::uint64_t size = 0;
  std::string name;
};

// A folder in another, made if it is not there; -1 where it cannot be used.
int open_folder(int parent, const char* name) {
  if (::mkdirat(parent, name, 0700) != 0 && errno != EEXIST) return -1;
  CacheFile folder(::openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat st{};
  if (folder.get() < 0 || ::fstat(folder.get(), &st) != 0 || !is_private(st)) return -1;
  return folder.release();
}

std::string cache_home() {
  const char* xdg = std::getenv("XDG_CACHE_HOME");
  // Relative paths are invalid there, and to be ignored.
  if (xdg != nullptr && xdg[0] == '/') return xdg;
  const char* home = std::getenv("HOME");
  return home != nullptr && home[0] == '/' ? std::string(home) + "/.cache" : "";
}

}  // namespace

std::vector<std::uint8_t> wrap(std::span<const std::uint8_t> analysis,
                               const ModuleCache::Key& key) {
  const CacheHeader header{.key = key, .size = analysis.size()};
  const auto frame = compressed(analysis);
  if (frame.empty()) return {};
  const auto* first = reinterpret_cast<const std::uint8_t*>(&header);
  std::vector<std::uint8_t> out(first, first + sizeof header);
  out.insert(out.end(), frame.begin(), frame.end());
  return out;
}

std::optional<std::vector<std::uint8_t>> unwrap(std::span<const std::uint8_t> file,
                                                const ModuleCache::Key& key) {
  ByteReader reader(file);
  const auto header = reader.read<CacheHeader>();
  if (!header || header->magic != kMagic || header->key != key) return std::nullopt;
  // The frame says how large it becomes; both have to agree before memory is taken.
  if (header->size > ModuleCache::kLargest) return std::nullopt;
  return decompressed(reader.rest(), header->size);
}

ModuleCache::Key ModuleCache::key_of(std::span<const std::uint8_t> bytes) {
  return digest_of(bytes);
}

std::optional<ModuleCache> ModuleCache::of_user(const char* folder_name) {
  const std::string home = cache_home();
  const auto self = image::read_elf_file("/proc/self/exe");
  if (home.empty() || !self || self->build_id.empty()) return std::nullopt;
  // The specification: a cache home that is not there is made, for the user alone.
  if (::mkdir(home.c_str(), 0700) != 0 && errno != EEXIST) return std::nullopt;
  const CacheFile top(::open(home.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (top.get() < 0) return std::nullopt;
  const CacheFile own(open_folder(top.get(), "hodoscope"));
  if (own.get() < 0) return std::nullopt;
  const int folder = open_folder(own.get(), folder_name);
  if (folder < 0) return std::nullopt;
  return ModuleCache(folder, digest_of(self->build_id), {});
}

std::optional<ModuleCache> ModuleCache::in(const std::string& folder,
                                           std::span<const std::uint8_t> maker,
                                           CacheLimits limits) {
  const int opened = open_folder(AT_FDCWD, folder.c_str());
  if (opened < 0) return std::nullopt;
  return ModuleCache(opened, digest_of(maker), limits);
}

ModuleCache::ModuleCache(ModuleCache&& other) noexcept
    : folder_(std::exchange(other.folder_, -1)), maker_(other.maker_), limits_(other.limits_) {}
ModuleCache& ModuleCache::operator=(ModuleCache&& other) noexcept {
  std::swap(folder_, other.folder_);
  std::swap(maker_, other.maker_);
  std::swap(limits_, other.limits_);
  return *this;
}
ModuleCache::~ModuleCache() {
  if (folder_ >= 0) ::close(folder_);
}

// By what it is of and who made it.
std::string ModuleCache::name_of(const Key& key) const {
  Sha256 sum;
  sum.add(key);
  sum.add(maker_);
  std::string out;
  for (const std::uint8_t byte : sum.finish()) out += fmt::format("{:02x}", byte);
  return out;
}

int ModuleCache::open_file(const Key& key) const {
  // Not even opening must wait: a file of that name may be a pipe.
  CacheFile file(
      ::openat(folder_, name_of(key).c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat st{};
  if (file.get() < 0 || ::fstat(file.get(), &st) != 0) return -1;
  const bool good = S_ISREG(st.st_mode) && is_private(st) && st.st_size > 0;
  if (!good) return -1;
  ::futimens(file.get(), nullptr);  // so that what is asked for stays
  return file.release();
}

std::optional<std::vector<std::uint8_t>> ModuleCache::load(const Key& key) const {
  const CacheFile file(open_file(key));
  struct stat st{};
  if (file.get() < 0 || ::fstat(file.get(), &st) != 0) return std::nullopt;
  if (static_cast<std::uint64_t>(st.st_size) > kLargest) return std::nullopt;
  return unwrap(read_at(file.get(), 0, static_cast<std::size_t>(st.st_size)), key);
}

std::unique_ptr<PartsReader> ModuleCache::open_parts(const Key& key) const {
  return PartsReader::open(open_file(key), key);
}

std::unique_ptr<PartsWriter> ModuleCache::write_parts(const Key& key) const {
  remove_what_is_too_much();
  return std::make_unique<PartsWriter>(::fcntl(folder_, F_DUPFD_CLOEXEC, 0), name_of(key), key);
}

std::uint64_t ModuleCache::size_of(const Key& key) const {
  struct stat st{};
  if (::fstatat(folder_, name_of(key).c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0) return 0;
  return static_cast<std::uint64_t>(st.st_size);
}

void ModuleCache::forget(const Key& key) const { ::unlinkat(folder_, name_of(key).c_str(), 0); }

void ModuleCache::store(const Key& key, std::span<const std::uint8_t> analysis) const {
  if (analysis.size() > kLargest) return;
  const auto bytes = wrap(analysis, key);
  const std::string name = name_of(key);
  const std::string unfinished = fmt::format("{}.{}", name, ::getpid());
  const CacheFile file(::openat(folder_, unfinished.c_str(),
                                O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (file.get() < 0) return;
  // In one step, so that nobody reads half of it.
  const bool whole = !bytes.empty() && write_all(file.get(), bytes) &&
                     ::renameat(folder_, unfinished.c_str(), folder_, name.c_str()) == 0;
  if (!whole) ::unlinkat(folder_, unfinished.c_str(), 0);
  remove_what_is_too_much();
}

void ModuleCache::remove_what_is_too_much() const {
  // The stream owns its descriptor and moves its offset.
  CacheFile again(::openat(folder_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const std::unique_ptr<DIR, int (*)(DIR*)> list(
      again.get() < 0 ? nullptr : ::fdopendir(again.get()), ::closedir);
  if (!list) return;
  again.release();
  std::vector<Kept> all;
  std::uint64_t bytes = 0;
  while (const dirent* entry = ::readdir(list.get())) {
    struct stat st{};
    if (::fstatat(folder_, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (!S_ISREG(st.st_mode)) continue;
    const auto size = static_cast<std::uint64_t>(st.st_size);
    all.push_back({{st.st_mtim.tv_sec, st.st_mtim.tv_nsec}, size, entry->d_name});
    bytes += size;
  }
  const auto is_too_much = [&](std::size_t files) {
    return files > 1 && (files > limits_.files || bytes > limits_.bytes);
  };
  if (!is_too_much(all.size())) return;
  std::ranges::sort(all, {}, &Kept::asked_for);
  for (std::size_t i = 0; is_too_much(all.size() - i); ++i) {
    ::unlinkat(folder_, all[i].name.c_str(), 0);
    bytes -= all[i].size;
  }
}

}  // namespace hodo::text
