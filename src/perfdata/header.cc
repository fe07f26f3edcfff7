#include <algorithm>
#include <string>

#include "hodo/base/byte_reader.h"
#include "parse_common.h"
#include "reader_impl.h"

namespace hodo::perfdata {
namespace {

constexpr std::uint64_t kLargestHeader = 4096;

// A trace of 256 GiB has an index of some MiB, the largest of all sections.
constexpr std::uint64_t kLargestSection = 64 << 20;

Result<std::vector<std::uint8_t>> section(const Reader::Impl& in, FileSection where) {
  return in.input.section(where.offset, where.size, kLargestSection);
}

// Ids cannot legitimately lie on top of each other, so all of them together fit the file; `budget`
// (in ids) keeps a hostile file from naming one stretch many times.
std::vector<std::uint64_t> read_ids(Reader::Impl& out, FileSection where, std::uint64_t at,
                                    std::uint64_t& budget) {
  const bool fits = where.size / 8 <= budget;
  const auto bytes = section(out, fits ? where : FileSection{.offset = ~std::uint64_t{0}});
  if (!bytes) {
    out.damages.add(at, "an event's ids lie outside the file");
    return {};
  }
  budget -= where.size / 8;
  const PackedArray<std::uint64_t> ids(std::span{*bytes}.first(bytes->size() / 8 * 8));
  std::vector<std::uint64_t> result(ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) result[i] = ids[i];
  return result;
}

void read_attrs(Reader::Impl& out, const FileHeader& header) {
  const std::uint64_t entry = header.attr_size;
  if (entry < PERF_ATTR_SIZE_VER0 + sizeof(FileSection) || entry > 4096) {
    out.damages.add(16, "event attributes of an impossible size; records are not interpreted");
    return;
  }
  auto where = header.attrs;
  const std::uint64_t size = out.input.size();
  if (where.offset > size || where.size > size - where.offset) {
    out.damages.add(where.offset, "the event attributes are cut off");
    where.size = where.offset < size ? size - where.offset : 0;
    if (where.size == 0) return;
  }
  const auto bytes = section(out, where);
  if (!bytes) {
    out.damages.add(where.offset, "the event attributes: " + bytes.error().message);
    return;
  }
  std::uint64_t budget = size / 8;
  for (std::uint64_t at = 0; bytes->size() - at >= entry; at += entry) {
    const auto one = std::span(*bytes).subspan(at, entry);
    FieldReader ids(one.last(sizeof(FileSection)));
    Attr attr{.attr = parse_attr(one.first(entry - sizeof(FileSection))), .ids = {}, .name = {}};
    attr.ids = read_ids(out, ids.get<FileSection>(), where.offset + at, budget);
    out.attrs.add(std::move(attr));
  }
}

// Their bytes stay in the file, until somebody wants them. What does not fit is left out.
void read_whole_files(Reader::Impl& out, FileSection where) {
  constexpr std::size_t kMostFiles = 4096;
  const bool is_there =
      where.offset <= out.input.size() && where.size <= out.input.size() - where.offset;
  if (!is_there || where.size > kLargestSection) {
    out.damages.add(where.offset, "the files that are gone are cut off");
    return;
  }
  for (std::uint64_t at = 0; at < where.size && out.facts.whole_files.size() < kMostFiles;) {
    WholeFile file;
    const auto left = [&] { return where.size - at; };
    const auto head = section(out, {where.offset + at, sizeof(WholeFileHead)});
    if (!head || left() < sizeof(WholeFileHead)) return;
    at += sizeof(WholeFileHead);
    FieldReader fields(*head);
    const auto says = fields.get<WholeFileHead>();
    const auto path = section(out, {where.offset + at, std::min(says.path_size, left())});
    if (!path || says.path_size > left() || says.size > left() - says.path_size) {
      out.damages.add(where.offset + at, "a file that is gone is cut off");
      return;
    }
    at += says.path_size;
    file.path.assign(path->begin(), path->end());
    file.inode = says.inode;
    file.build_id = says.build_id;
    file.build_id.size = std::min<std::uint8_t>(says.build_id.size, 20);
    file.offset = where.offset + at;
    file.size = says.size;
    at += says.size;
    out.facts.whole_files.push_back(std::move(file));
  }
}

void read_features(Reader::Impl& out, const FileHeader& header) {
  // A table of sections, one per set bit, directly behind the data.
  std::uint64_t at = out.data_end;
  // They do not lie on top of each other, so all of them together fit the file.
  std::uint64_t budget = out.input.size();
  for (unsigned bit = 0; bit < 256; ++bit) {
    if (!(header.features[bit / 64] >> (bit % 64) & 1)) continue;
    const auto entry = section(out, {at, sizeof(FileSection)});
    if (!entry) {
      out.damages.add(at, "the table of header features is cut off");
      return;
    }
    FieldReader fields(*entry);
    const auto where = fields.get<FileSection>();
    at += sizeof(FileSection);
    if (bit == static_cast<unsigned>(Feature::whole_files)) {
      read_whole_files(out, where);
      continue;
    }
    auto bytes = section(out, where);
    if (bytes && where.size <= budget) {
      budget -= where.size;
      out.take_feature(static_cast<std::uint8_t>(bit), std::move(*bytes));
    } else {
      out.damages.add(where.offset, "header feature " + std::to_string(bit) + " is cut off");
    }
  }
}

// Where the records end, and whether the recorder got to say so.
void find_data(Reader::Impl& out, const FileHeader& header) {
  const std::uint64_t file_size = out.input.size();
  const bool has_features = std::any_of(std::begin(header.features), std::end(header.features),
                                        [](std::uint64_t word) { return word != 0; });
  out.data_offset = std::min(header.data.offset, file_size);
  const std::uint64_t available = file_size - out.data_offset;
  out.growing = out.growing && !has_features && header.data.size <= available;
  out.outran = !out.growing && out.input.has_grown();
  if (out.growing) {
    out.finished = false;
    out.data_end = out.data_offset + header.data.size;
    return;
  }
  if (header.data.offset > file_size) {
    out.damages.add(file_size, "the file ends before its records begin");
    out.finished = false;
  }
  if (header.data.size == 0) {
    out.damages.add(kDataSizeOffset, "the recorder died: the file is read to its end");
    out.finished = false;
    out.data_end = file_size;
  } else if (header.data.size > available) {
    out.damages.add(file_size, "the file is cut off: " + std::to_string(header.data.size) +
                                   " bytes of records were written, " + std::to_string(available) +
                                   " are here");
    out.finished = false;
    out.data_end = file_size;
  } else {
    out.data_end = out.data_offset + header.data.size;
    // A recorder that died has not come to the feature sections: what is behind its last flush are
    // more records, the last one perhaps cut off.
    if (header.size >= sizeof(FileHeader) && !has_features) {
      out.finished = false;
      out.data_end = file_size;
    }
  }
}

Status check_magic(std::uint64_t magic) {
  if (magic == kMagic2) return {};
  if (magic == kMagic2Swapped) {
    return fail(ErrorCode::unsupported, "recorded on a big-endian machine; only x86 is supported",
                0);
  }
  if (magic == kMagic1) {
    return fail(ErrorCode::unsupported, "perf.data in its first version, before Linux 3.6", 0);
  }
  return fail(ErrorCode::malformed, "not a perf.data file", 0);
}

// Once each, or a hostile file could have them kept without end.
void take_once(Reader::Impl& out, const HeaderFeature& feature) {
  const bool known = feature.feature > 255 ||
                     out.facts.sections.contains(static_cast<std::uint8_t>(feature.feature));
  if (known) return;
  out.take_feature(static_cast<std::uint8_t>(feature.feature),
                   {feature.data.begin(), feature.data.end()});
}

}  // namespace

void Reader::Impl::take_feature(std::uint8_t feature, std::vector<std::uint8_t> section) {
  read_feature(feature, sections.emplace_back(std::move(section)), facts, attrs);
}

Status read_header(Reader::Impl& out) {
  std::vector<std::uint8_t> head(
      static_cast<std::size_t>(std::min<std::uint64_t>(out.input.size(), kLargestHeader)));
  if (Status status = out.input.read(0, head); !status) return status;
  ByteReader in(head);
  const auto magic = in.read<std::uint64_t>();
  if (!magic) return fail(ErrorCode::truncated, "too short for a perf.data file", out.input.size());
  if (auto status = check_magic(*magic); !status) return status;
  const auto size = in.read<std::uint64_t>();
  if (!size) return fail(ErrorCode::truncated, "ends inside its header", out.input.size());
  if (*size == kPipeHeaderSize) {
    out.pipe = true;
    out.data_offset = kPipeHeaderSize;
    out.data_end = out.input.size();
    return {};
  }
  // Before feature bits existed the header ended where they begin now.
  if (*size < kFeaturesOffset || *size > kLargestHeader) {
    return fail(ErrorCode::malformed, "a file header of an impossible size", 8);
  }
  if (head.size() < *size) {
    return fail(ErrorCode::truncated, "ends inside its header", head.size());
  }
  FileHeader header;
  std::memcpy(&header, head.data(), std::min<std::uint64_t>(*size, sizeof(header)));
  find_data(out, header);
  read_attrs(out, header);
  if (out.finished) read_features(out, header);
  return {};
}

void read_announced_features(Reader::Impl& out, Cursor cursor) {
  while (const auto raw = cursor.next_raw()) {
    if (raw->type < RecordType::header_attr) return;
    const auto record = parse(*raw, {});
    const auto* feature = record ? std::get_if<HeaderFeature>(&record->body) : nullptr;
    if (feature != nullptr) take_once(out, *feature);
  }
}

void read_pipe_header(Reader::Impl& out, Cursor cursor) {
  while (const auto raw = cursor.next_raw()) {
    if (raw->type < RecordType::header_attr) continue;
    const auto record = parse(*raw, {});
    if (!record) continue;  // the user's own pass over the records reports it
    if (const auto* attr = std::get_if<HeaderAttr>(&record->body)) {
      Attr added{.attr = attr->attr, .ids = {}, .name = {}};
      for (std::size_t i = 0; i < attr->ids.size(); ++i) added.ids.push_back(attr->ids[i]);
      out.attrs.add(std::move(added));
    } else if (const auto* feature = std::get_if<HeaderFeature>(&record->body)) {
      take_once(out, *feature);
    } else if (const auto* update = std::get_if<EventUpdate>(&record->body)) {
      constexpr std::uint64_t kName = 2;  // PERF_EVENT_UPDATE__NAME
      if (update->type == kName) {
        out.attrs.set_name(update->id, std::string(FieldReader::c_string(update->data)));
      }
    } else if (const auto* build = std::get_if<HeaderBuildId>(&record->body)) {
      out.facts.build_ids.push_back(
          {std::string(build->path), build->build_id, build->pid, raw->misc});
    }
  }
}

}  // namespace hodo::perfdata
