#include "hodo/perfdata/reader.h"

#include "being_written.h"
#include "reader_impl.h"

namespace hodo::perfdata {

Reader::Reader(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Reader::Reader(Reader&&) noexcept = default;
Reader& Reader::operator=(Reader&&) noexcept = default;
Reader::~Reader() = default;

Result<Reader> Reader::make(std::unique_ptr<Impl> impl) {
  if (auto status = read_header(*impl); !status) return std::unexpected(status.error());
  Reader reader(std::move(impl));
  if (reader.pipe_mode()) read_pipe_header(*reader.impl_, reader.records());
  if (!reader.finished()) read_announced_features(*reader.impl_, reader.records());
  return reader;
}

Result<Reader> Reader::open_as_is(const std::string& path) {
  auto file = image::RegularFile::open(path);
  if (!file && file.error().code == ErrorCode::unsupported) {
    file.error().message += "; save the data to one first";
  }
  if (!file) return std::unexpected(file.error());
  const bool growing = is_being_written(file->fd());
  auto impl = std::make_unique<Impl>(Input(std::move(*file)));
  impl->growing = growing;
  auto reader = make(std::move(impl));
  if (!reader) reader.error().message = path + ": " + reader.error().message;
  if (!reader && growing && reader.error().code == ErrorCode::truncated) {
    reader.error().message += "; it is still being recorded, ask again in a moment";
  }
  return reader;
}

Result<Reader> Reader::open(const std::string& path) {
  auto reader = open_as_is(path);
  // A recorder writes four times a second what it has.
  for (int tries = 0; tries < 3 && reader && reader->impl_->outran; ++tries) {
    reader = open_as_is(path);
  }
  return reader;
}

Result<Reader> Reader::open_memory(std::span<const std::uint8_t> bytes) {
  return make(std::make_unique<Impl>(Input(bytes)));
}

std::uint64_t Reader::size() const { return impl_->input.size(); }

Status Reader::read(std::uint64_t offset, std::span<std::uint8_t> out) const {
  return impl_->input.read(offset, out);
}

bool Reader::pipe_mode() const { return impl_->pipe; }
bool Reader::finished() const { return impl_->finished; }
bool Reader::growing() const { return impl_->growing; }
std::uint64_t Reader::data_end() const { return impl_->data_end; }
const std::vector<Attr>& Reader::attrs() const { return impl_->attrs.attrs(); }
const FileFacts& Reader::facts() const { return impl_->facts; }
const std::vector<Damage>& Reader::damages() const { return impl_->damages.kept(); }
Layout Reader::layout_of(const RawRecord& raw) const { return impl_->attrs.layout_of(raw); }
const Attr* Reader::attr_of(const SampleId& id) const { return impl_->attrs.find(id); }

}  // namespace hodo::perfdata
