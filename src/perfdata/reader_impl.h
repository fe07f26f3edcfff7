// What a Reader keeps of the file that it has opened.
#pragma once

#include <deque>

#include "attr_table.h"
#include "damage_log.h"
#include "file_format.h"
#include "hodo/perfdata/reader.h"
#include "input.h"

namespace hodo::perfdata {

struct Reader::Impl {
  explicit Impl(Input in) : input(std::move(in)) {}

  // Reads a feature section, which lives as long as this, into `facts` and the names of `attrs`.
  void take_feature(std::uint8_t feature, std::vector<std::uint8_t> section);

  Input input;
  std::uint64_t data_offset = 0, data_end = 0;
  bool pipe = false;
  bool finished = true;
  bool growing = false;  // see Reader; before read_header(): somebody holds the file's lock
  bool outran = false;   // what is here does not fit: more was written while it was opened
  AttrTable attrs;
  FileFacts facts;
  DamageLog damages;
  std::deque<std::vector<std::uint8_t>> sections;  // what facts.sections points to
};

// Everything before the first record, and the feature sections behind the last. Errors as
// Reader::open.
Status read_header(Reader::Impl& out);
// The same for a file that was written to a pipe, where attrs and features are records.
void read_pipe_header(Reader::Impl& out, Cursor cursor);

// The features that an unfinished file has as records before all others.
void read_announced_features(Reader::Impl& out, Cursor cursor);

// Takes one feature section apart into `facts` and the names of `attrs`.
void read_feature(std::uint8_t feature, std::span<const std::uint8_t> section, FileFacts& facts,
                  AttrTable& attrs);

}  // namespace hodo::perfdata
