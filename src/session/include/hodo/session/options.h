// What a user says about the input of a reading command.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hodo/isa/insn.h"
#include "hodo/pt/errata.h"
#include "hodo/symbol/line_store.h"
#include "hodo/symbol/source_paths.h"

namespace hodo::session {

// What a file without a format around it holds.
enum class RawKind : std::uint8_t {
  pt,   // Intel PT packets
  bts,  // BTS records, oldest first
  lbr,  // a dump of LBR registers as text or JSON (docs/formats/lbr-dump.md)
};

// A bare stream of trace data, without the file format around it.
struct RawInput {
  RawKind kind = RawKind::pt;
  unsigned record_size = 0;  // bts: 24 or 12 bytes; 0: found out
  // bts: FILE is a whole circular buffer, and the next record would have gone to this offset: what
  // stands there is the oldest.
  std::optional<std::uint64_t> index;
  std::vector<std::string> images;     // elf:PATH[@BASE], bin:ADDR:PATH[:OFFSET:LENGTH], pages:A:D
  isa::Mode mode = isa::Mode::bits64;  // pt: until the stream's MODE.Exec says otherwise
  pt::Errata errata;                   // pt: of the processor that wrote it
  // pt: the IP filters that were active while recording, as [first, last], both included. None:
  // everything was recorded, or it is not known what.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> filters;
};

struct Options {
  std::string path = "hodo.data";
  std::optional<RawInput> raw;  // set: `path` is a raw trace
  // The files that a recording names lie below this folder: those of a guest, or of another
  // machine. Empty: they are this machine's.
  std::string symfs;
  // Where sources are that debug information names otherwise.
  symbol::SourcePaths sources = {};
  // Where source positions of a recording's files are kept for the next session; null: nowhere.
  std::shared_ptr<symbol::LineStore> lines = nullptr;
};

// Which part of a session a command wants. Absent members select everything.
struct Selection {
  std::optional<std::int32_t> pid;
  std::optional<std::int32_t> tid;
};

}  // namespace hodo::session
