// The file: a header, the parts, and last the head, where the header says.
#include "hodo/text/parts_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <utility>

#include "cache_files.h"
#include "hodo/base/byte_reader.h"

namespace hodo::text {
namespace {

struct PartsHeader {
  std::array<char, 8> magic = {'h', 'o', 'd', 'o', 'p', 'a', 'r', '1'};
  ModuleCache::Key key{};
  FilePart head;
};

std::span<const std::uint8_t> bytes_of(const PartsHeader& header) {
  return {reinterpret_cast<const std::uint8_t*>(&header), sizeof header};
}

}  // namespace

PartsWriter::PartsWriter(int folder, std::string name, const ModuleCache::Key& key)
    : folder_(folder),
      name_(std::move(name)),
      unfinished_(fmt::format("{}.{}", name_, ::getpid())),
      key_(key) {
  if (folder_ < 0) return;
  file_ = ::openat(folder_, unfinished_.c_str(),
                   O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  const PartsHeader header{.magic = {}};  // it is none yet
  if (file_ >= 0 && write_all(file_, bytes_of(header))) end_ = sizeof header;
}

PartsWriter::~PartsWriter() {
  if (file_ >= 0) ::close(file_);
  if (file_ >= 0 && !unfinished_.empty()) ::unlinkat(folder_, unfinished_.c_str(), 0);
  if (folder_ >= 0) ::close(folder_);
}

std::optional<FilePart> PartsWriter::add(std::span<const std::uint8_t> part) {
  if (end_ == 0) return std::nullopt;
  const auto frame = compressed(part);
  if (frame.empty() || !write_all(file_, frame)) {
    end_ = 0;
    return std::nullopt;
  }
  const FilePart out{.offset = end_, .packed = frame.size(), .size = part.size()};
  end_ += frame.size();
  return out;
}

bool PartsWriter::finish(std::span<const std::uint8_t> head) {
  const auto where = add(head);
  if (!where) return false;
  const PartsHeader header{.key = key_, .head = *where};
  const auto bytes = bytes_of(header);
  if (::pwrite(file_, bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    return false;
  // In one step, so that nobody reads half of it.
  if (::renameat(folder_, unfinished_.c_str(), folder_, name_.c_str()) != 0) return false;
  unfinished_.clear();
  return true;
}

std::unique_ptr<PartsReader> PartsReader::open(int file, const ModuleCache::Key& key) {
  std::unique_ptr<PartsReader> out(new PartsReader(file));
  struct stat st{};
  if (file < 0 || ::fstat(file, &st) != 0 || st.st_size <= 0) return nullptr;
  out->bytes_ = static_cast<std::uint64_t>(st.st_size);
  const auto begin = read_at(file, 0, sizeof(PartsHeader));
  const auto header = ByteReader(begin).read<PartsHeader>();
  if (!header || header->magic != PartsHeader{}.magic || header->key != key) return nullptr;
  auto head = out->read(header->head, ModuleCache::kLargest);
  if (!head) return nullptr;
  out->head_ = std::move(*head);
  return out;
}

PartsReader::~PartsReader() {
  if (file_ >= 0) ::close(file_);
}

std::optional<std::vector<std::uint8_t>> PartsReader::part(const FilePart& part) const {
  return read(part, kLargestPart);
}

std::optional<std::vector<std::uint8_t>> PartsReader::read(const FilePart& part,
                                                           std::uint64_t most) const {
  const bool there = part.offset <= bytes_ && part.packed <= bytes_ - part.offset;
  // A file may be larger than memory where it is a hole.
  if (!there || part.size > most || part.packed > most_compressed(part.size)) return std::nullopt;
  const auto frame = read_at(file_, part.offset, static_cast<std::size_t>(part.packed));
  if (frame.size() != part.packed) return std::nullopt;
  return decompressed(frame, part.size);
}

}  // namespace hodo::text
