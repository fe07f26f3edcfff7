#include "hodo/perfdata/writer.h"

#include <sys/mman.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <string>

#include "byte_writer.h"
#include "feature_writer.h"
#include "file_format.h"
#include "hodo/perfdata/sums.h"
#include "output_file.h"
#include "parse_common.h"
#include "pt_config.h"

namespace hodo::perfdata {
namespace {

// Whole pages of code that fit a TEXT_POKE record with its trailer.
constexpr std::size_t kMaxCodePiece = 0xf000;
// perf keeps names in buffers of PATH_MAX.
constexpr std::size_t kMaxName = 4095;

// attrs as the header holds them: ids first, then the attributes that point to them.
ByteWriter header_image(const std::vector<Attr>& attrs) {
  ByteWriter out;
  FileHeader header;
  header.size = sizeof(FileHeader);
  header.attr_size = sizeof(perf_event_attr) + sizeof(FileSection);
  out.put(header);
  std::vector<FileSection> ids;
  for (const auto& attr : attrs) {
    ids.push_back({out.size(), attr.ids.size() * sizeof(std::uint64_t)});
    for (const auto id : attr.ids) out.u64(id);
  }
  header.attrs = {out.size(), attrs.size() * header.attr_size};
  for (std::size_t i = 0; i < attrs.size(); ++i) out.put(attrs[i].attr).put(ids[i]);
  header.data = {out.size(), 0};
  out.set(0, header);
  return out;
}

// Fields of samples that other records do not have, so that events may differ in them.
constexpr std::uint64_t kNotInTrailers = PERF_SAMPLE_BRANCH_STACK;

Status check(const std::vector<Attr>& attrs) {
  for (const auto& attr : attrs) {
    if (attr.ids.empty() || !attr.attr.sample_id_all ||
        ((attr.attr.sample_type ^ attrs.front().attr.sample_type) & ~kNotInTrailers) != 0 ||
        !(attr.attr.sample_type & PERF_SAMPLE_IDENTIFIER)) {
      return fail(ErrorCode::usage,
                  "the events of a recording need ids, sample_id_all and one sample_type with "
                  "PERF_SAMPLE_IDENTIFIER");
    }
  }
  return {};
}

constexpr std::uint64_t kBtsRecord = 24;

std::uint64_t padding_of(std::uint64_t size) { return (8 - size % 8) % 8; }

// So large that the sums of so much data have room in one record.
std::uint32_t sum_block_for(std::uint64_t size) {
  constexpr std::uint64_t kMostSums =
      (kMaxRecordSize - sizeof(RecordHeader) - sizeof(AuxtraceBody)) / sizeof(std::uint32_t);
  constexpr std::uint64_t kMostData = kMostSums * BlockSums::kBlock;
  return static_cast<std::uint32_t>(BlockSums::kBlock *
                                    std::max<std::uint64_t>(1, (size + kMostData - 1) / kMostData));
}

}  // namespace

struct Writer::Impl {
  std::unique_ptr<OutputFile> file;
  std::vector<Attr> attrs;
  TraceKind trace = TraceKind::intel_pt;
  PtConfig pt;
  std::vector<std::string> cmdline;
  std::string version;
  std::optional<ClockData> clock;
  std::uint64_t data_offset = 0;
  std::optional<SampleTime> times;
  std::map<std::string, BuildId> build_ids;
  std::vector<AuxtraceIndexEntry> index;
  ByteWriter whole_files;
  std::uint32_t records_sum = 0;  // as FileFacts has it
  std::optional<Error> failed;
  bool finished = false;

  std::uint64_t traced_id() const { return attrs.front().ids.front(); }
  std::uint64_t tracking_id() const { return attrs.back().ids.front(); }
  void saw(std::uint64_t time);

  // A kernel record of an event: header, `body`, trailer.
  Status kernel_record(RecordType type, unsigned misc, const ByteWriter& body, const Stamp& stamp,
                       std::uint64_t id);
  Status tool_record(RecordType type, const ByteWriter& body);
  Status record(RecordType type, unsigned misc, const ByteWriter& body);
  ByteWriter trailer(const Stamp& stamp, std::uint64_t id) const;

  Status append(std::span<const std::span<const std::uint8_t>> blocks);
  Status write_data_size();
  Status fail_with(Error error);
  Status writable() const;
  // What is known before anything was recorded.
  FeatureWriter known_features() const;
  FeatureWriter features(std::string_view summary) const;
  Status announce_features();
  Status code_piece(std::uint64_t address, std::span<const std::uint8_t> bytes, const Stamp& stamp);
};

void Writer::Impl::saw(std::uint64_t time) {
  if (time == 0) return;
  if (!times) times = SampleTime{time, time};
  times->first = std::min(times->first, time);
  times->last = std::max(times->last, time);
}

Status Writer::Impl::writable() const {
  if (failed) return std::unexpected(*failed);
  if (finished) return fail(ErrorCode::usage, "the recording is finished already");
  return {};
}

// Keeps what is in the file readable: the header covers the whole records and nothing else.
Status Writer::Impl::fail_with(Error error) {
  if (!failed) {
    failed = std::move(error);
    (void)write_data_size();
  }
  return std::unexpected(*failed);
}

Status Writer::Impl::write_data_size() {
  const std::uint64_t size = file->size() - data_offset;
  ByteWriter bytes;
  bytes.u64(size);
  return file->patch(kDataSizeOffset, bytes.bytes());
}

Status Writer::Impl::append(std::span<const std::span<const std::uint8_t>> blocks) {
  auto status = file->append(blocks);
  return status ? status : fail_with(std::move(status.error()));
}

Status Writer::Impl::record(RecordType type, unsigned misc, const ByteWriter& body) {
  if (auto status = writable(); !status) return status;
  const std::size_t size = sizeof(RecordHeader) + body.size();
  if (size > kMaxRecordSize) {
    return fail(ErrorCode::usage, "a " + std::string(name(type)) + " record of " +
                                      std::to_string(size) +
                                      " bytes; at most 65528 can be written");
  }
  ByteWriter header;
  header.put(RecordHeader{static_cast<std::uint32_t>(type), static_cast<std::uint16_t>(misc),
                          static_cast<std::uint16_t>(size)});
  records_sum = crc32c(body.bytes(), crc32c(header.bytes(), records_sum));
  return append(std::array{header.bytes(), body.bytes()});
}

// In the order of the kernel's perf_event__output_id_sample, for the fields that the events have.
ByteWriter Writer::Impl::trailer(const Stamp& stamp, std::uint64_t id) const {
  const auto type = attrs.front().attr.sample_type;
  ByteWriter out;
  if (type & PERF_SAMPLE_TID) out.i32(stamp.pid).i32(stamp.tid);
  if (type & PERF_SAMPLE_TIME) out.u64(stamp.time);
  if (type & PERF_SAMPLE_ID) out.u64(id);
  if (type & PERF_SAMPLE_STREAM_ID) out.u64(id);
  if (type & PERF_SAMPLE_CPU) out.u32(stamp.cpu).u32(0);
  if (type & PERF_SAMPLE_IDENTIFIER) out.u64(id);
  return out;
}

Status Writer::Impl::kernel_record(RecordType type, unsigned misc, const ByteWriter& body,
                                   const Stamp& stamp, std::uint64_t id) {
  saw(stamp.time);
  ByteWriter whole = body;
  whole.align(8).raw(trailer(stamp, id).bytes());
  return record(type, misc, whole);
}

Status Writer::Impl::tool_record(RecordType type, const ByteWriter& body) {
  return record(type, 0, body);
}

Writer::Writer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Writer::Writer(Writer&&) noexcept = default;
Writer& Writer::operator=(Writer&&) noexcept = default;
Writer::~Writer() {
  if (impl_ && !impl_->finished && !impl_->failed) (void)flush();
}

Result<Writer> Writer::create(const std::string& path, WriterOptions options) {
  if (options.attrs.empty()) {
    options.attrs = options.trace == TraceKind::intel_bts ? bts_attrs(options.pt.pmu_type)
                                                          : pt_attrs(options.pt);
  }
  if (options.clock) {
    for (auto& attr : options.attrs) {
      attr.attr.use_clockid = 1;
      attr.attr.clockid = static_cast<std::int32_t>(options.clock->clockid);
    }
  }
  if (auto status = check(options.attrs); !status) return std::unexpected(status.error());
  auto file = OutputFile::create(path, options.keep_old);
  if (!file) return std::unexpected(file.error());

  auto impl = std::make_unique<Impl>();
  impl->file = std::move(*file);
  impl->attrs = std::move(options.attrs);
  impl->trace = options.trace;
  impl->pt = std::move(options.pt);
  impl->cmdline = std::move(options.cmdline);
  impl->version = std::move(options.version);
  impl->clock = options.clock;
  const auto header = header_image(impl->attrs);
  impl->data_offset = header.size();
  if (auto status = impl->append(std::array{header.bytes()}); !status) {
    return std::unexpected(status.error());
  }

  Writer writer(std::move(impl));
  auto& in = *writer.impl_;
  if (in.trace == TraceKind::intel_pt || in.trace == TraceKind::intel_bts) {
    const ByteWriter info =
        in.trace == TraceKind::intel_bts ? bts_info_payload(in.pt) : auxtrace_info_payload(in.pt);
    if (auto status = in.tool_record(RecordType::auxtrace_info, info); !status) {
      return std::unexpected(status.error());
    }
  }
  const auto& time = in.pt.time;
  ByteWriter conversion;
  conversion.u64(time.shift).u64(time.mult).u64(time.zero).u64(0).u64(0).u64(time.valid);
  if (auto status = in.tool_record(RecordType::time_conv, conversion); !status) {
    return std::unexpected(status.error());
  }
  if (auto status = in.announce_features(); !status) return std::unexpected(status.error());
  if (auto status = writer.flush(); !status) return std::unexpected(status.error());
  return writer;
}

const std::string& Writer::path() const { return impl_->file->path(); }
std::uint64_t Writer::bytes_written() const { return impl_->file->size(); }

Status Writer::comm(const Comm& comm, const Stamp& stamp) {
  ByteWriter body;
  body.i32(comm.pid).i32(comm.tid).string(comm.comm.substr(0, kMaxName), 8);
  return impl_->kernel_record(RecordType::comm, comm.exec ? PERF_RECORD_MISC_COMM_EXEC : 0, body,
                              stamp, impl_->tracking_id());
}

Status Writer::mmap(const Mmap& mmap, const Stamp& stamp) {
  const auto path = mmap.path.substr(0, kMaxName);
  unsigned misc = mmap.pid == -1 ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER;
  ByteWriter body;
  body.i32(mmap.pid).i32(mmap.tid).u64(mmap.address).u64(mmap.size).u64(mmap.file_offset);
  if (mmap.build_id.size != 0) {
    misc |= PERF_RECORD_MISC_MMAP_BUILD_ID;
    body.u32(mmap.build_id.size).put(mmap.build_id.bytes);
    impl_->build_ids.emplace(path, mmap.build_id);
  } else {
    body.u32(mmap.maj).u32(mmap.min).u64(mmap.inode).u64(mmap.inode_generation);
  }
  if (mmap.data) misc |= PERF_RECORD_MISC_MMAP_DATA;
  body.u32(mmap.prot).u32(mmap.flags).string(path, 8);
  return impl_->kernel_record(RecordType::mmap2, misc, body, stamp, impl_->tracking_id());
}

static ByteWriter task_body(const Task& task) {
  ByteWriter body;
  body.i32(task.pid).i32(task.ppid).i32(task.tid).i32(task.ptid).u64(task.time);
  return body;
}

Status Writer::fork(const Task& task, const Stamp& stamp) {
  return impl_->kernel_record(RecordType::fork, 0, task_body(task), stamp, impl_->tracking_id());
}

Status Writer::exit(const Task& task, const Stamp& stamp) {
  return impl_->kernel_record(RecordType::exit, 0, task_body(task), stamp, impl_->tracking_id());
}

Status Writer::itrace_start(const ItraceStart& start, const Stamp& stamp) {
  ByteWriter body;
  body.i32(start.pid).i32(start.tid);
  return impl_->kernel_record(RecordType::itrace_start, 0, body, stamp, impl_->traced_id());
}

Status Writer::aux(const Aux& aux, const Stamp& stamp) {
  ByteWriter body;
  body.u64(aux.offset).u64(aux.size).u64(aux.flags);
  return impl_->kernel_record(RecordType::aux, 0, body, stamp, impl_->traced_id());
}

Status Writer::lost(std::uint64_t count, const Stamp& stamp) {
  ByteWriter body;
  body.u64(impl_->tracking_id()).u64(count);
  return impl_->kernel_record(RecordType::lost, 0, body, stamp, impl_->tracking_id());
}

Status Writer::switch_(const Switch& change, const Stamp& stamp) {
  const unsigned misc = (change.out ? PERF_RECORD_MISC_SWITCH_OUT : 0u) |
                        (change.preempt ? PERF_RECORD_MISC_SWITCH_OUT_PREEMPT : 0u);
  const bool wide = change.next_prev_pid != -1 || change.next_prev_tid != -1;
  ByteWriter body;
  if (wide) body.i32(change.next_prev_pid).i32(change.next_prev_tid);
  return impl_->kernel_record(wide ? RecordType::switch_cpu_wide : RecordType::switch_, misc, body,
                              stamp, impl_->tracking_id());
}

Status Writer::Impl::code_piece(std::uint64_t address, std::span<const std::uint8_t> bytes,
                                const Stamp& stamp) {
  constexpr std::uint64_t kBytesOffset = sizeof(RecordHeader) + 8 + 2 + 2;
  if (auto status = writable(); !status) return status;
  const bool kernel = stamp.pid == -1;
  const std::uint64_t bytes_at = file->size() + kBytesOffset;
  ByteWriter poke;
  poke.u64(address).put<std::uint16_t>(0).put(static_cast<std::uint16_t>(bytes.size())).raw(bytes);
  const unsigned misc = kernel ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER;
  auto status = kernel_record(RecordType::text_poke, misc, poke, stamp, tracking_id());
  if (!status || kernel) return status;
  ByteWriter map;
  map.i32(stamp.pid).i32(stamp.tid).u64(address).u64(bytes.size()).u64(bytes_at);
  map.u32(0).u32(0).u64(0).u64(0);  // device, inode
  map.u32(PROT_READ | PROT_EXEC).u32(MAP_PRIVATE).string(file->path(), 8);
  return kernel_record(RecordType::mmap2, PERF_RECORD_MISC_USER, map, stamp, tracking_id());
}

Status Writer::code(std::uint64_t address, std::span<const std::uint8_t> bytes,
                    const Stamp& stamp) {
  while (!bytes.empty()) {
    const auto piece = bytes.first(std::min(bytes.size(), kMaxCodePiece));
    if (auto status = impl_->code_piece(address, piece, stamp); !status) return status;
    address += piece.size();
    bytes = bytes.subspan(piece.size());
  }
  return {};
}

void Writer::whole_file(const WholeFile& file, std::span<const std::uint8_t> bytes) {
  const WholeFileHead head{.inode = file.inode,
                           .path_size = file.path.size(),
                           .size = bytes.size(),
                           .build_id = file.build_id};
  const auto* path = reinterpret_cast<const std::uint8_t*>(file.path.data());
  impl_->whole_files.put(head).raw({path, file.path.size()}).raw(bytes);
}

Status Writer::ksymbol(const KernelSymbol& symbol, const Stamp& stamp) {
  constexpr std::size_t kLongestName = 255;  // KSYM_NAME_LEN of perf 6.1
  ByteWriter body;
  body.u64(symbol.address).u32(static_cast<std::uint32_t>(symbol.size));
  body.put<std::uint16_t>(PERF_RECORD_KSYMBOL_TYPE_OOL).put<std::uint16_t>(0);
  body.string(std::string_view(symbol.name).substr(0, kLongestName), 8);
  return impl_->kernel_record(RecordType::ksymbol, PERF_RECORD_MISC_KERNEL, body, stamp,
                              impl_->tracking_id());
}

// The record in front of `data`, with its sums.
static ByteWriter auxtrace_head(const AuxtraceBody& body,
                                std::span<const std::span<const std::uint8_t>> data) {
  BlockSums sums(body.sum_block);
  for (const auto& part : data) sums.add(part);
  ByteWriter rest;
  for (const std::uint32_t sum : sums.finish()) rest.u32(sum);
  rest.align(8);
  ByteWriter head;
  const std::size_t size = sizeof(RecordHeader) + sizeof(body) + rest.size();
  head.put(RecordHeader{static_cast<std::uint32_t>(RecordType::auxtrace), 0,
                        static_cast<std::uint16_t>(size)});
  head.put(body).raw(rest.bytes());
  return head;
}

Status Writer::auxtrace(const Auxtrace& where,
                        std::span<const std::span<const std::uint8_t>> pieces) {
  static constexpr std::uint8_t kZeros[kBtsRecord] = {};
  if (auto status = impl_->writable(); !status) return status;
  std::uint64_t size = 0;
  for (const auto& piece : pieces) size += piece.size();
  if (size == 0) return {};
  // Without a reference perf cannot complete any TSC packet, and 6.1 crashes when it needs one.
  const std::uint64_t now = impl_->times ? impl_->pt.time.to_tsc(impl_->times->last) : 0;
  const auto reference = where.reference != 0 ? where.reference : std::max<std::uint64_t>(now, 1);
  const std::uint64_t padding = auxtrace_size(size) - size;

  std::vector<std::span<const std::uint8_t>> data(pieces.begin(), pieces.end());
  data.push_back(std::span(kZeros).first(padding));
  const ByteWriter head = auxtrace_head({.size = size + padding,
                                         .offset = where.offset,
                                         .reference = reference,
                                         .idx = where.idx,
                                         .tid = where.tid,
                                         .cpu = where.cpu,
                                         .sum_block = sum_block_for(size + padding)},
                                        data);
  const AuxtraceIndexEntry entry{impl_->file->size(), head.size()};
  std::vector<std::span<const std::uint8_t>> blocks{head.bytes()};
  blocks.insert(blocks.end(), data.begin(), data.end());
  impl_->records_sum = crc32c(head.bytes(), impl_->records_sum);
  if (auto status = impl_->append(blocks); !status) return status;
  impl_->index.push_back(entry);
  return {};
}

std::uint64_t Writer::auxtrace_size(std::uint64_t bytes) const {
  return bytes + (impl_->trace == TraceKind::intel_bts ? kBtsRecord : padding_of(bytes));
}

// In the order of the kernel's perf_output_sample, for stack_attrs().
Status Writer::branch_stack(std::uint64_t ip, std::span<const std::uint8_t> entries,
                            const Stamp& stamp) {
  ByteWriter body;
  body.u64(impl_->traced_id()).u64(ip).i32(stamp.pid).i32(stamp.tid).u64(stamp.time);
  body.u32(stamp.cpu).u32(0).u64(entries.size() / sizeof(BranchEntry)).raw(entries);
  impl_->saw(stamp.time);
  return impl_->record(RecordType::sample, PERF_RECORD_MISC_USER, body);
}

Status Writer::finished_round() { return impl_->tool_record(RecordType::finished_round, {}); }
Status Writer::finished_init() { return impl_->tool_record(RecordType::finished_init, {}); }

Status Writer::raw(std::span<const std::uint8_t> records) {
  if (auto status = impl_->writable(); !status) return status;
  const auto layout = layout_of(impl_->attrs.front().attr);
  for (FieldReader in(records); in.remaining() != 0;) {
    FieldReader ahead = in;
    const auto header = ahead.get<RecordHeader>();
    RawRecord record{.type = static_cast<RecordType>(header.type), .misc = header.misc};
    record.bytes = in.take(header.size);
    const auto parsed = parse(record, layout);
    const bool payload_behind = record.type == RecordType::auxtrace;
    if (!in.ok() || header.size < sizeof(header) || payload_behind || !parsed) {
      return fail(ErrorCode::usage, "bytes that are no whole records");
    }
    if (parsed->id.time) impl_->saw(*parsed->id.time);
  }
  impl_->records_sum = crc32c(records, impl_->records_sum);
  return impl_->append({&records, 1});
}

Status Writer::flush() {
  if (auto status = impl_->writable(); !status) return status;
  auto status = impl_->file->flush();
  if (status) status = impl_->write_data_size();
  return status ? status : impl_->fail_with(std::move(status.error()));
}

FeatureWriter Writer::Impl::known_features() const {
  FeatureWriter out;
  add_host_features(out);
  out.string(Feature::version, version);
  out.cmdline(cmdline);
  if (clock) out.clock(*clock);
  return out;
}

// As records, which is how files that go through a pipe have them: a recording that is cut off does
// not come to its feature sections.
Status Writer::Impl::announce_features() {
  const FeatureWriter known = known_features();
  for (const auto& [bit, section] : known.sections()) {
    ByteWriter body;
    body.u64(bit).raw(section.bytes()).align(8);
    if (sizeof(RecordHeader) + body.size() > kMaxRecordSize) continue;  // a very long command line
    if (auto status = tool_record(RecordType::header_feature, body); !status) return status;
  }
  return {};
}

FeatureWriter Writer::Impl::features(std::string_view summary) const {
  FeatureWriter out = known_features();
  out.events(attrs);
  std::map<std::uint32_t, std::string> pmus{{PERF_TYPE_SOFTWARE, "software"}};
  if (trace == TraceKind::intel_pt) pmus.emplace(pt.pmu_type, "intel_pt");
  if (trace == TraceKind::intel_bts) pmus.emplace(pt.pmu_type, "intel_bts");
  out.pmus(pmus);
  if (!build_ids.empty()) out.build_ids(build_ids);
  if (!index.empty()) out.auxtrace_index(index);
  if (times) out.sample_time(*times);
  if (clock) {
    timespec resolution{};
    if (::clock_getres(static_cast<clockid_t>(clock->clockid), &resolution) == 0) {
      out.word(Feature::clockid, static_cast<std::uint64_t>(resolution.tv_sec) * 1'000'000'000u +
                                     static_cast<std::uint64_t>(resolution.tv_nsec));
    }
  }
  if (whole_files.size() != 0) out.bytes(Feature::whole_files, whole_files.bytes());
  ByteWriter sum;
  sum.u32(records_sum).u32(0);
  out.bytes(Feature::records_sum, sum.bytes());
  out.bytes(Feature::hodoscope,
            {reinterpret_cast<const std::uint8_t*>(summary.data()), summary.size()});
  return out;
}

Status Writer::finish(std::string_view summary) {
  if (auto status = flush(); !status) return status;
  const auto sections = impl_->features(summary);
  const auto image = sections.image(impl_->file->size());
  auto status = impl_->append(std::array{image.bytes()});
  if (status) status = impl_->file->flush();
  if (!status) return impl_->fail_with(std::move(status.error()));
  ByteWriter mask;
  mask.put(sections.mask());
  // From here on the file says that it is complete.
  status = impl_->file->patch(kFeaturesOffset, mask.bytes());
  if (!status) {
    impl_->failed = std::move(status.error());
    return std::unexpected(*impl_->failed);
  }
  impl_->finished = true;
  return impl_->file->close();
}

}  // namespace hodo::perfdata
