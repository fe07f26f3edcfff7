#include "hodo/image/content.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>

namespace hodo::image {
namespace {

// Files are read in pieces of this size: large enough that a mapping is a few reads, small enough
// that a mapping of one page of a huge file stays cheap.
constexpr std::uint64_t kBlock = 64 << 10;

// A sparse file can claim any size; nothing executable is larger than this.
constexpr std::uint64_t kLargestFile = std::uint64_t{1} << 40;

// What one small content costs beside its bytes: itself, its control block, its place in the map.
constexpr std::uint64_t kOverhead = 256;

// A text of 26 MB is 13 pages of this size instead of 6,500, each of which would be a fault.
constexpr std::uintptr_t kHugePage = 2 << 20;

// Asks for huge pages where all of one will be written; the kernel may do without.
void want_huge_pages(std::span<std::uint8_t> bytes) {
  const auto begin = reinterpret_cast<std::uintptr_t>(bytes.data());
  const std::uintptr_t skipped = (kHugePage - begin % kHugePage) % kHugePage;
  if (bytes.size() < skipped + kHugePage) return;
  const auto whole = bytes.subspan(skipped, (bytes.size() - skipped) / kHugePage * kHugePage);
  ::madvise(whole.data(), whole.size(), MADV_HUGEPAGE);
}

std::uint64_t next_id() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

}  // namespace

void Content::Release::operator()(std::uint8_t* data) const {
  if (mapped != 0) {
    ::munmap(data, mapped);
  } else {
    delete[] data;
  }
}

Content::Content(Storage data, std::uint64_t size)
    : id_(next_id()), data_(std::move(data)), size_(size) {}

Content::Storage Content::reserve(std::size_t size) {
  void* const data = ::mmap(nullptr, size, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) throw std::bad_alloc();  // not as if there were no such file
  return Storage(static_cast<std::uint8_t*>(data), Release{size});
}

bool ContentStore::LexicographicLess::operator()(std::span<const std::uint8_t> a,
                                                 std::span<const std::uint8_t> b) const {
  const int order = std::memcmp(a.data(), b.data(), std::min(a.size(), b.size()));
  return order != 0 ? order < 0 : a.size() < b.size();
}

Status ContentStore::take_budget(std::uint64_t bytes) {
  if (bytes > limit_ - used_) {
    return fail(ErrorCode::no_space, "the images together are larger than the limit of " +
                                         std::to_string(limit_ >> 20) + " MiB");
  }
  used_ += bytes;
  return {};
}

Result<ContentStore::FileContent*> ContentStore::known(const RegularFile& file,
                                                       const std::string& path) {
  if (const auto it = files_.find(file.id()); it != files_.end()) return &it->second;
  if (file.size() > kLargestFile) {
    return fail(ErrorCode::unsupported, path + " is too large to hold code");
  }
  FileContent made{std::shared_ptr<Content>(new Content(
                       Content::reserve(static_cast<std::size_t>(file.size())), file.size())),
                   std::vector<bool>(static_cast<std::size_t>((file.size() - 1) / kBlock + 1))};
  return &files_.emplace(file.id(), std::move(made)).first->second;
}

Status ContentStore::load(const RegularFile& file, FileContent& known, std::uint64_t offset,
                          std::uint64_t length, const std::string& path) {
  const Content& content = *known.content;
  want_huge_pages({content.data_.get() + offset, static_cast<std::size_t>(length)});
  for (auto block = offset / kBlock; block <= (offset + length - 1) / kBlock; ++block) {
    if (known.loaded[block]) continue;
    const auto size = std::min(kBlock, content.size_ - block * kBlock);
    if (auto taken = take_budget(size); !taken) return taken;
    const Status read = file.read(
        block * kBlock, {content.data_.get() + block * kBlock, static_cast<std::size_t>(size)});
    if (!read) return fail(read.error().code, path + ": " + read.error().message);
    known.loaded[block] = true;
  }
  return {};
}

Result<Slice> ContentStore::file(const std::string& path, std::uint64_t offset,
                                 std::uint64_t length) {
  const auto file = RegularFile::open(path);
  if (!file) return std::unexpected(file.error());
  if (offset >= file->size() || length == 0) return Slice{};
  length = std::min(length, file->size() - offset);
  const std::lock_guard lock(mutex_);
  const auto content = known(*file, path);
  if (!content) return std::unexpected(content.error());
  if (auto loaded = load(*file, **content, offset, length, path); !loaded) {
    return std::unexpected(loaded.error());
  }
  return Slice{(*content)->content, offset, length};
}

Result<Slice> ContentStore::memory(std::span<const std::uint8_t> bytes) {
  if (bytes.empty()) return Slice{};
  const std::lock_guard lock(mutex_);
  auto it = memories_.find(bytes);
  if (it == memories_.end()) {
    if (bytes.size() > ~std::uint64_t{0} - kOverhead) return fail(ErrorCode::no_space, "too large");
    if (auto taken = take_budget(bytes.size() + kOverhead); !taken) {
      return std::unexpected(taken.error());
    }
    Content::Storage storage(new std::uint8_t[bytes.size()], Content::Release{0});
    std::ranges::copy(bytes, storage.get());
    const std::span<const std::uint8_t> key(storage.get(), bytes.size());
    it = memories_
             .emplace(key, std::shared_ptr<Content>(new Content(std::move(storage), bytes.size())))
             .first;
  }
  return Slice{it->second, 0, bytes.size()};
}

}  // namespace hodo::image
