#include "hodo/perfdata/reader.h"

#include "hodo/base/byte_reader.h"
#include "reader_impl.h"

namespace hodo::perfdata {

Reader::Reader(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Reader::Reader(Reader&&) noexcept = default;
Reader& Reader::operator=(Reader&&) noexcept = default;
Reader::~Reader() = default;

Result<Reader> Reader::open(const std::string& path) {
  auto file = MappedFile::open(path);
  if (!file) return std::unexpected(file.error());
  auto reader = open_memory(file->bytes());
  if (!reader) {
    reader.error().message = path + ": " + reader.error().message;
    return reader;
  }
  reader->impl_->file = std::move(*file);
  return reader;
}

Result<Reader> Reader::open_memory(std::span<const std::uint8_t> bytes) {
  auto impl = std::make_unique<Impl>();
  impl->bytes = bytes;
  if (auto status = read_header(*impl); !status) return std::unexpected(status.error());
  Reader reader(std::move(impl));
  if (reader.pipe_mode()) read_pipe_header(*reader.impl_, reader.records());
  return reader;
}

std::span<const std::uint8_t> Reader::bytes() const { return impl_->bytes; }

Result<std::span<const std::uint8_t>> Reader::bytes(std::uint64_t offset,
                                                    std::uint64_t size) const {
  ByteReader in(impl_->bytes);
  if (in.seek(offset)) {
    if (const auto taken = in.take(size)) return *taken;
  }
  return fail(ErrorCode::truncated, "the file ends before these bytes do", offset);
}

bool Reader::pipe_mode() const { return impl_->pipe; }
bool Reader::finished() const { return impl_->finished; }
const std::vector<Attr>& Reader::attrs() const { return impl_->attrs.attrs(); }
const FileFacts& Reader::facts() const { return impl_->facts; }
const std::vector<Damage>& Reader::damages() const { return impl_->damages.kept(); }
Layout Reader::layout_of(const RawRecord& raw) const { return impl_->attrs.layout_of(raw); }
const Attr* Reader::attr_of(const SampleId& id) const { return impl_->attrs.find(id); }

}  // namespace hodo::perfdata
