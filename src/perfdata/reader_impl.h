#pragma once

#include "attr_table.h"
#include "damage_log.h"
#include "file_format.h"
#include "hodo/perfdata/reader.h"
#include "mapped_file.h"

namespace hodo::perfdata {

struct Reader::Impl {
  MappedFile file;                      // empty for open_memory
  std::span<const std::uint8_t> bytes;  // of the whole file
  std::uint64_t data_offset = 0, data_end = 0;
  bool pipe = false;
  bool finished = true;
  AttrTable attrs;
  FileFacts facts;
  DamageLog damages;
};

// Everything before the first record, and the feature sections behind the last. Errors as
// Reader::open.
Status read_header(Reader::Impl& out);
// The same for a file that was written to a pipe, where attrs and features are records.
void read_pipe_header(Reader::Impl& out, Cursor cursor);

// Takes one feature section apart into `facts` and the names of `attrs`.
void read_feature(std::uint8_t feature, std::span<const std::uint8_t> section, FileFacts& facts,
                  AttrTable& attrs);

}  // namespace hodo::perfdata
