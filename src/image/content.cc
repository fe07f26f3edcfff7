#include "hodo/image/content.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>

namespace hodo::image {
namespace {

// Files are read in pieces of this size: large enough that a mapping is a few reads, small enough
// that looking at one place of a huge file stays cheap.
constexpr std::uint64_t kBlock = 16 << 10;
static_assert(Slice::kAhead <= kBlock);

// Longer ranges are read where somebody looks: a question about one moment needs a few blocks of a
// program of 26 MB. Their files stay open, so many at most: a hostile recording can name any
// number.
constexpr std::uint64_t kReadAtOnce = 2 << 20;
constexpr std::size_t kMostOpen = 64;

// A sparse file can claim any size; nothing executable is larger than this.
constexpr std::uint64_t kLargestFile = std::uint64_t{1} << 40;

// What one small content costs beside its bytes: itself, its control block, its place in the map.
constexpr std::uint64_t kOverhead = 256;

// Errors: no_space.
Status take(ContentBudget& budget, std::uint64_t bytes) {
  std::uint64_t used = budget.used.load();
  do {
    if (bytes > budget.limit - used) {
      return fail(ErrorCode::no_space, "the images together are larger than the limit of " +
                                           std::to_string(budget.limit >> 20) + " MiB");
    }
  } while (!budget.used.compare_exchange_weak(used, used + bytes));
  return {};
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

Content::Content(Storage data, std::uint64_t size, std::unique_ptr<Reading> reading)
    : id_(next_id()), data_(std::move(data)), size_(size), reading_(std::move(reading)) {}

Content::Storage Content::reserve(std::size_t size) {
  void* const data = ::mmap(nullptr, size, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) throw std::bad_alloc();  // not as if there were no such file
  return Storage(static_cast<std::uint8_t*>(data), Release{size});
}

std::string Content::trouble() const {
  if (reading_ == nullptr) return "";
  const std::lock_guard lock(reading_->mutex);
  return reading_->trouble;
}

Status Content::read(std::uint64_t offset, std::uint64_t length, const RegularFile* file) const {
  if (reading_ == nullptr || length == 0) return {};
  const std::uint64_t last = (offset + length - 1) / kBlock;
  std::uint64_t block = offset / kBlock;
  while (block <= last && reading_->has(block)) ++block;
  if (block > last) return {};
  const std::lock_guard lock(reading_->mutex);
  for (; block <= last; ++block) {
    if (reading_->has(block)) continue;
    const Status done = read_block(block, file != nullptr ? *file : *reading_->file);
    if (!done) {
      reading_->trouble = done.error().message;
      return done;
    }
    reading_->blocks[block].store(true, std::memory_order_release);
  }
  return {};
}

Status Content::read_block(std::uint64_t block, const RegularFile& file) const {
  const std::uint64_t size = std::min(kBlock, size_ - block * kBlock);
  if (auto taken = take(*reading_->budget, size); !taken) return taken;
  const Status done =
      file.read(block * kBlock, {data_.get() + block * kBlock, static_cast<std::size_t>(size)});
  if (done && file.is_unwritten()) return {};
  reading_->budget->used -= size;
  return !done ? done : fail(ErrorCode::io, "was written to while it was read");
}

std::span<const std::uint8_t> Slice::bytes(std::uint64_t first, std::uint64_t size) const {
  if (!content || (later && !content->read(offset + first, size))) return {};
  return {content->data_.get() + offset + first, static_cast<std::size_t>(size)};
}

Slice::Part Slice::around(std::uint64_t at) const {
  if (!later) return {0, bytes()};
  const std::uint64_t block = (offset + at) / kBlock * kBlock;
  const std::uint64_t blocks = offset + at + kAhead <= block + kBlock ? 1 : 2;
  const std::uint64_t first = std::max(block, offset) - offset;
  const std::uint64_t end = std::min(block + blocks * kBlock, offset + length) - offset;
  return {first, bytes(first, end - first)};
}

bool ContentStore::LexicographicLess::operator()(std::span<const std::uint8_t> a,
                                                 std::span<const std::uint8_t> b) const {
  const int order = std::memcmp(a.data(), b.data(), std::min(a.size(), b.size()));
  return order != 0 ? order < 0 : a.size() < b.size();
}

Result<std::shared_ptr<Content>> ContentStore::known(const RegularFile& file,
                                                     const std::string& path) {
  if (const auto it = files_.find(file.id()); it != files_.end()) return it->second;
  if (file.size() > kLargestFile) {
    return fail(ErrorCode::unsupported, path + " is too large to hold code");
  }
  auto reading = std::make_unique<Content::Reading>();
  reading->budget = budget_;
  reading->blocks =
      std::vector<std::atomic<bool>>(static_cast<std::size_t>((file.size() - 1) / kBlock + 1));
  std::shared_ptr<Content> made(new Content(Content::reserve(static_cast<std::size_t>(file.size())),
                                            file.size(), std::move(reading)));
  return files_.emplace(file.id(), std::move(made)).first->second;
}

Result<Slice> ContentStore::file(const std::string& path, std::uint64_t offset,
                                 std::uint64_t length) {
  auto file = RegularFile::open(path);
  if (!file) return std::unexpected(file.error());
  if (offset >= file->size() || length == 0) return Slice{};
  length = std::min(length, file->size() - offset);
  const std::lock_guard lock(mutex_);
  const auto content = known(*file, path);
  if (!content) return std::unexpected(content.error());
  Slice slice{.content = *content, .offset = offset, .length = length};
  std::optional<RegularFile>& kept = (*content)->reading_->file;
  if (length > kReadAtOnce && (kept || open_ < kMostOpen)) {
    if (!kept) {
      kept = *std::move(file);
      ++open_;
    }
    slice.later = true;
    return slice;
  }
  const Status read = (*content)->read(offset, length, &*file);
  if (!read) return fail(read.error().code, path + ": " + read.error().message);
  return slice;
}

Result<Slice> ContentStore::memory(std::span<const std::uint8_t> bytes) {
  if (bytes.empty()) return Slice{};
  const std::lock_guard lock(mutex_);
  auto it = memories_.find(bytes);
  if (it == memories_.end()) {
    if (bytes.size() > ~std::uint64_t{0} - kOverhead) return fail(ErrorCode::no_space, "too large");
    if (auto taken = take(*budget_, bytes.size() + kOverhead); !taken) {
      return std::unexpected(taken.error());
    }
    Content::Storage storage(new std::uint8_t[bytes.size()], Content::Release{0});
    std::ranges::copy(bytes, storage.get());
    const std::span<const std::uint8_t> key(storage.get(), bytes.size());
    std::shared_ptr<Content> made(new Content(std::move(storage), bytes.size(), nullptr));
    it = memories_.emplace(key, std::move(made)).first;
  }
  return Slice{.content = it->second, .length = bytes.size()};
}

}  // namespace hodo::image
