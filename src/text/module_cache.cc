#include "hodo/text/module_cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <utility>

#include "hodo/base/byte_reader.h"
#include "hodo/image/elf.h"
#include "sha256.h"

namespace hodo::text {
namespace {

constexpr std::array<char, 8> kMagic = {'h', 'o', 'd', 'o', 'm', 'o', 'd', '3'};

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

class File {
 public:
  explicit File(int fd) : fd_(fd) {}
  ~File() {
    if (fd_ >= 0) ::close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

// Ours, and nobody else may write to it.
bool is_private(const struct stat& st) {
  return st.st_uid == ::geteuid() && (st.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

// A folder in another, made if it is not there; -1 where it cannot be used.
int open_folder(int parent, const char* name) {
  if (::mkdirat(parent, name, 0700) != 0 && errno != EEXIST) return -1;
  File folder(::openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat st{};
  if (folder.get() < 0 || ::fstat(folder.get(), &st) != 0 || !is_private(st)) return -1;
  return folder.release();
}

bool write_all(int fd, std::span<const std::uint8_t> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
  return true;
}

std::vector<std::uint8_t> read_all(int fd, std::size_t size) {
  std::vector<std::uint8_t> out(size);
  std::size_t done = 0;
  while (done < size) {
    const ssize_t n = ::pread(fd, out.data() + done, size - done, static_cast<off_t>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    done += static_cast<std::size_t>(n);
  }
  out.resize(done);
  return out;
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
  const std::unique_ptr<ZSTD_CCtx, std::size_t (*)(ZSTD_CCtx*)> context(ZSTD_createCCtx(),
                                                                        ZSTD_freeCCtx);
  if (!context) return {};
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, 1);
  // A frame that was damaged is noticed. Against malice there are the rights of the folder.
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, 1);
  std::vector<std::uint8_t> out(sizeof header + ZSTD_compressBound(analysis.size()));
  const auto* first = reinterpret_cast<const std::uint8_t*>(&header);
  std::copy_n(first, sizeof header, out.begin());
  const std::size_t size =
      ZSTD_compress2(context.get(), out.data() + sizeof header, out.size() - sizeof header,
                     analysis.data(), analysis.size());
  if (ZSTD_isError(size)) return {};
  out.resize(sizeof header + size);
  return out;
}

std::optional<std::vector<std::uint8_t>> unwrap(std::span<const std::uint8_t> file,
                                                const ModuleCache::Key& key) {
  ByteReader reader(file);
  const auto header = reader.read<CacheHeader>();
  if (!header || header->magic != kMagic || header->key != key) return std::nullopt;
  // The frame says how large it becomes; both have to agree before memory is taken.
  const auto frame = reader.rest();
  const bool fits = header->size <= ModuleCache::kLargest &&
                    ZSTD_getFrameContentSize(frame.data(), frame.size()) == header->size;
  if (!fits) return std::nullopt;
  std::vector<std::uint8_t> out(static_cast<std::size_t>(header->size));
  const std::size_t size = ZSTD_decompress(out.data(), out.size(), frame.data(), frame.size());
  if (ZSTD_isError(size) || size != out.size()) return std::nullopt;
  return out;
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
  const File top(::open(home.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (top.get() < 0) return std::nullopt;
  const File own(open_folder(top.get(), "hodoscope"));
  if (own.get() < 0) return std::nullopt;
  const int folder = open_folder(own.get(), folder_name);
  if (folder < 0) return std::nullopt;
  return ModuleCache(folder, digest_of(self->build_id));
}

std::optional<ModuleCache> ModuleCache::in(const std::string& folder,
                                           std::span<const std::uint8_t> maker) {
  const int opened = open_folder(AT_FDCWD, folder.c_str());
  if (opened < 0) return std::nullopt;
  return ModuleCache(opened, digest_of(maker));
}

ModuleCache::ModuleCache(ModuleCache&& other) noexcept
    : folder_(std::exchange(other.folder_, -1)), maker_(other.maker_) {}
ModuleCache& ModuleCache::operator=(ModuleCache&& other) noexcept {
  std::swap(folder_, other.folder_);
  std::swap(maker_, other.maker_);
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

std::optional<std::vector<std::uint8_t>> ModuleCache::load(const Key& key) const {
  // Not even opening must wait: a file of that name may be a pipe.
  const File file(
      ::openat(folder_, name_of(key).c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat st{};
  if (file.get() < 0 || ::fstat(file.get(), &st) != 0) return std::nullopt;
  const bool good = S_ISREG(st.st_mode) && is_private(st) && st.st_size > 0 &&
                    static_cast<std::uint64_t>(st.st_size) <= kLargest;
  if (!good) return std::nullopt;
  return unwrap(read_all(file.get(), static_cast<std::size_t>(st.st_size)), key);
}

void ModuleCache::store(const Key& key, std::span<const std::uint8_t> analysis) const {
  if (analysis.size() > kLargest) return;
  const auto bytes = wrap(analysis, key);
  const std::string name = name_of(key);
  const std::string unfinished = fmt::format("{}.{}", name, ::getpid());
  const File file(::openat(folder_, unfinished.c_str(),
                           O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (file.get() < 0) return;
  // In one step, so that nobody reads half of it.
  const bool whole = !bytes.empty() && write_all(file.get(), bytes) &&
                     ::renameat(folder_, unfinished.c_str(), folder_, name.c_str()) == 0;
  if (!whole) ::unlinkat(folder_, unfinished.c_str(), 0);
  remove_oldest();
}

void ModuleCache::remove_oldest() const {
  // The stream owns its descriptor and moves its offset.
  File again(::openat(folder_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const std::unique_ptr<DIR, int (*)(DIR*)> list(
      again.get() < 0 ? nullptr : ::fdopendir(again.get()), ::closedir);
  if (!list) return;
  again.release();
  std::size_t count = 0;
  std::string oldest;
  timespec when{};
  while (const dirent* entry = ::readdir(list.get())) {
    struct stat st{};
    if (::fstatat(folder_, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (!S_ISREG(st.st_mode)) continue;
    const bool older =
        std::pair(st.st_mtim.tv_sec, st.st_mtim.tv_nsec) < std::pair(when.tv_sec, when.tv_nsec);
    if (count++ == 0 || older) {
      oldest = entry->d_name;
      when = st.st_mtim;
    }
  }
  if (count > kMostFiles) ::unlinkat(folder_, oldest.c_str(), 0);
}

}  // namespace hodo::text
