#include "guest_file.h"

#include <sys/mman.h>

#include <algorithm>
#include <string>

#include "hodo/perfdata/guest_path.h"

namespace hodo::capture {

Status write_guest_file(perfdata::Writer& writer, const guest::GuestMapping& mapping,
                        std::span<const std::uint8_t> build_id, const perfdata::Stamp& stamp) {
  perfdata::Mmap record{.pid = stamp.pid,
                        .tid = stamp.tid,
                        .address = mapping.start,
                        .size = mapping.end - mapping.start,
                        .file_offset = mapping.offset,
                        .path = mapping.path,
                        .prot = PROT_READ | PROT_EXEC,
                        .flags = MAP_PRIVATE,
                        .maj = mapping.major,
                        .min = mapping.minor,
                        .inode = mapping.inode};
  if (!mapping.path.starts_with('/')) return writer.mmap(record, stamp);  // [vdso]
  record.build_id.size =
      static_cast<std::uint8_t>(std::min(build_id.size(), record.build_id.bytes.size()));
  std::copy_n(build_id.begin(), record.build_id.size, record.build_id.bytes.begin());
  const std::string of_guest = std::string(perfdata::kOfGuest) + mapping.path;
  if (record.build_id.size == 0) record.path = of_guest;
  return writer.mmap(record, stamp);
}

}  // namespace hodo::capture
