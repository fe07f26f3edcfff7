// Walks the records in file order, around what is damaged.
#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "decompressor.h"
#include "hodo/perfdata/reader.h"
#include "reader_impl.h"

namespace hodo::perfdata {
namespace {

// No kernel or perf has come near this; a larger number is not a record type but damage.
constexpr std::uint32_t kMaxType = 256;

// A record's header, and as much behind it as tells the size of what trails it.
struct Head {
  RecordHeader header;
  std::uint64_t word = 0;
};

// Payload bytes behind the record's own size: AUX data, and in pipe mode the tracing data. nullopt:
// the record is too short to say.
std::optional<std::uint64_t> trailing_size(const Head& head, bool pipe) {
  const auto type = static_cast<RecordType>(head.header.type);
  if (type == RecordType::auxtrace) {
    if (head.header.size < sizeof(RecordHeader) + sizeof(AuxtraceBody)) return std::nullopt;
    return head.word;
  }
  if (pipe && type == RecordType::header_tracing_data) {
    if (head.header.size < sizeof(RecordHeader) + 4) return std::nullopt;
    return ((head.word & 0xffffffff) + 7) / 8 * 8;
  }
  return 0;
}

}  // namespace

struct Cursor::Impl {
  explicit Impl(const Reader::Impl& in) : reader(&in), window(in.input), at(in.data_offset) {}

  std::optional<RawRecord> next_raw();
  std::optional<RawRecord> next_in_file();
  std::optional<RawRecord> next_decompressed();
  // Bytes that lie between the record at `offset` and the next one.
  std::uint64_t take_trailing(RawRecord& record);
  void resync();
  bool plausible(std::uint64_t offset) const;
  // The size of the record at `offset` with what trails it; 0 if it is none.
  std::uint64_t extent(std::uint64_t offset) const;
  // The caller has checked that a header fits in before the end of the data.
  std::optional<Head> head_at(std::uint64_t offset) const;
  // Notes why the rest cannot be read, and ends the pass.
  void give_up(const std::string& why);

  const Reader::Impl* reader;
  Window window;
  std::uint64_t at;
  std::uint64_t compressed_at = 0;  // the COMPRESSED record that is being emptied
  Decompressor decompressor;
  DamageLog damages;
};

std::optional<Head> Cursor::Impl::head_at(std::uint64_t offset) const {
  std::array<std::uint8_t, sizeof(Head)> bytes{};
  const std::uint64_t left = reader->data_end - offset;
  const std::size_t size = left < bytes.size() ? sizeof(RecordHeader) : bytes.size();
  if (!window.peek(offset, std::span(bytes).first(size))) return std::nullopt;
  Head head;
  std::memcpy(&head.header, bytes.data(), sizeof(head.header));
  std::memcpy(&head.word, bytes.data() + sizeof(head.header), sizeof(head.word));
  return head;
}

std::uint64_t Cursor::Impl::extent(std::uint64_t offset) const {
  const std::uint64_t left = reader->data_end - offset;
  if (left < sizeof(RecordHeader)) return 0;
  const auto head = head_at(offset);
  if (!head) return 0;
  const RecordHeader& header = head->header;
  if (header.type == 0 || header.type >= kMaxType || header.size < sizeof(header) ||
      header.size % 8 != 0 || header.size > left) {
    return 0;
  }
  const auto trailing = trailing_size(*head, reader->pipe);
  if (!trailing || *trailing > left - header.size) return 0;
  return header.size + *trailing;
}

// A place to go on is where four records in a row make sense, or fewer that end with the data.
bool Cursor::Impl::plausible(std::uint64_t offset) const {
  for (int i = 0; i < 4; ++i) {
    if (offset == reader->data_end) return i > 0;
    const auto size = extent(offset);
    if (size == 0) return false;
    offset += size;
  }
  return true;
}

void Cursor::Impl::resync() {
  const std::uint64_t from = at;
  // Records begin at multiples of 8 from the first one.
  at += 8 - (at - reader->data_offset) % 8;
  while (at < reader->data_end && !plausible(at)) {
    at += 8;
    // Moves the window; where that fails, next_in_file() says so.
    if (reader->data_end - std::min(at, reader->data_end) >= sizeof(RecordHeader)) {
      (void)window.at(at, sizeof(RecordHeader));
    }
  }
  at = std::min(at, reader->data_end);
  damages.add(from, "no record here: " + std::to_string(at - from) + " bytes are skipped");
}

std::uint64_t Cursor::Impl::take_trailing(RawRecord& record) {
  Head head;
  std::memcpy(&head, record.bytes.data(), std::min(record.bytes.size(), sizeof(head)));
  const auto wanted = trailing_size(head, reader->pipe);
  if (!wanted) return 0;  // parse() says that the record is too short
  const std::uint64_t begin = record.offset + record.bytes.size();
  const std::uint64_t left = reader->data_end - begin;
  record.trailing = std::min(*wanted, left);
  if (record.trailing < *wanted) {
    damages.add(begin, "AUX data is cut off: " + std::to_string(record.trailing) + " of " +
                           std::to_string(*wanted) + " bytes are here");
  }
  return record.trailing;
}

void Cursor::Impl::give_up(const std::string& why) {
  damages.add(at, why);
  at = reader->data_end;
}

std::optional<RawRecord> Cursor::Impl::next_in_file() {
  while (at < reader->data_end) {
    const std::uint64_t left = reader->data_end - at;
    if (left < sizeof(RecordHeader)) {
      give_up("the records end inside a record's header");
      break;
    }
    auto bytes = window.at(at, sizeof(RecordHeader));
    if (!bytes) {
      give_up(bytes.error().message);
      break;
    }
    RecordHeader header;
    std::memcpy(&header, bytes->data(), sizeof(header));
    if (header.size < sizeof(header) || header.type == 0 || header.type >= kMaxType) {
      resync();
      continue;
    }
    if (header.size > left) {
      give_up("a record is cut off: " + std::to_string(left) + " of " +
              std::to_string(header.size) + " bytes are here");
      break;
    }
    bytes = window.at(at, header.size);
    if (!bytes) {
      give_up(bytes.error().message);
      break;
    }
    RawRecord record{.type = static_cast<RecordType>(header.type),
                     .misc = header.misc,
                     .offset = at,
                     .decompressed = false,
                     .bytes = *bytes,
                     .trailing = 0};
    at += header.size + take_trailing(record);
    return record;
  }
  return std::nullopt;
}

std::optional<RawRecord> Cursor::Impl::next_decompressed() {
  const auto bytes = decompressor.next();
  if (!bytes) damages.add(compressed_at, bytes.error().message);
  if (!bytes || !*bytes) return std::nullopt;
  RecordHeader header;
  std::memcpy(&header, (*bytes)->data(), sizeof(header));
  return RawRecord{.type = static_cast<RecordType>(header.type),
                   .misc = header.misc,
                   .offset = compressed_at,
                   .decompressed = true,
                   .bytes = **bytes,
                   .trailing = 0};
}

std::optional<RawRecord> Cursor::Impl::next_raw() {
  for (;;) {
    if (auto record = next_decompressed()) {
      const bool nested =
          record->type == RecordType::compressed || record->type == RecordType::auxtrace;
      if (!nested) return record;
      damages.add(compressed_at, "a record that cannot be compressed, inside compressed data");
      continue;
    }
    auto record = next_in_file();
    if (!record) {
      if (decompressor.pending() != 0) {
        damages.add(compressed_at, "compressed data ends inside a record");
        decompressor.reset();
      }
      return std::nullopt;
    }
    if (record->type != RecordType::compressed) return record;
    compressed_at = record->offset;
    if (auto status = decompressor.feed(record->bytes.subspan(sizeof(RecordHeader))); !status) {
      damages.add(compressed_at, status.error().message);
    }
  }
}

Cursor::Cursor(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Cursor::Cursor(Cursor&&) noexcept = default;
Cursor& Cursor::operator=(Cursor&&) noexcept = default;
Cursor::~Cursor() = default;

Cursor Reader::records() const { return Cursor(std::make_unique<Cursor::Impl>(*impl_)); }

std::optional<RawRecord> Cursor::next_raw() { return impl_->next_raw(); }

std::optional<Record> Cursor::next() {
  while (const auto raw = impl_->next_raw()) {
    auto record = parse(*raw, impl_->reader->attrs.layout_of(*raw));
    if (record) return *record;
    impl_->damages.add(raw->offset, record.error().message);
  }
  return std::nullopt;
}

const std::vector<Damage>& Cursor::damages() const { return impl_->damages.kept(); }
std::uint64_t Cursor::damage_count() const { return impl_->damages.count(); }

}  // namespace hodo::perfdata
