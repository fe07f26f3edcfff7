// What a process had mapped, for those who judge what it executed.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace hodo::session {

// The system call by which a process got the right to execute memory that is in no file.
struct Grant {
  std::int32_t tid = -1;   // that made the call
  std::uint64_t time = 0;  // between the call and the return from it; trace clock
  auto operator<=>(const Grant&) const = default;
};

// The mapping that an address lies in. Views live as long as the session.
struct Region {
  std::uint32_t id = 0;  // equal for equal answers within a space
  // The recording kept the bytes that ran, because they are in no file or differ from the file's.
  bool kept = false;
  // The file that is mapped there, under the kept bytes too; empty: no file. As recorded, any
  // bytes.
  std::string_view path;
  // Where the same file is found here; empty: nowhere, or it is another one by now.
  std::string_view location;
  std::uint64_t file_offset = 0;  // of the address in the file
  // What memory without a file is, by the kernel's names: "[stack]", "[heap]", "//anon"; empty: not
  // known.
  std::string_view area;
  // Of such memory, where the recorder saw it: the engine does.
  std::optional<Grant> grant;
  // Whether the program had the right to write there, by PROT_WRITE of its mappings of the file.
  enum class Writing : std::uint8_t { none, before, now };
  Writing writing = Writing::none;
  // The program's runtime told perf of a function there (jitdump, /tmp/perf-PID.map).
  bool generated = false;
};

// A file that a process has mapped to execute it. Views live as long as the session.
struct MappedFile {
  std::string_view path;      // as recorded
  std::string_view location;  // as in Region
  std::uint64_t since = 0;    // when it was mapped; trace clock
  bool operator==(const MappedFile&) const = default;
};

// A process that another one forked, which ran one thread until then.
struct Fork {
  std::uint32_t parent = 0;  // spaces
  std::uint32_t child = 0;
  std::uint64_t time = 0;  // of its FORK record, which may come late; trace clock
};

class Regions {
 public:
  virtual ~Regions() = default;
  // `time` is in the trace's clock. nullopt: nothing is known to be mapped there.
  virtual std::optional<Region> region(std::uint32_t space, std::uint64_t address,
                                       std::uint64_t time) const = 0;
  // Region::id alone, which is cheaper; kNoRegion where nothing is known to be mapped. It stays the
  // same from the asked time to before `until`, in the trace's clock.
  static constexpr std::uint32_t kNoRegion = ~std::uint32_t{0};
  struct Id {
    std::uint32_t id = kNoRegion;
    std::uint64_t until = 0;
  };
  virtual Id id(std::uint32_t space, std::uint64_t address, std::uint64_t time) const = 0;
  // The files whose code a space has mapped at a time, in the order in which they came.
  virtual std::vector<MappedFile> files(std::uint32_t space, std::uint64_t time) const = 0;
  // When another thread started in a space that ran one since `time`; kNever if none did.
  static constexpr std::uint64_t kNever = ~std::uint64_t{0};
  virtual std::uint64_t next_thread(std::uint32_t space, std::uint64_t time) const = 0;
  virtual std::vector<Fork> forks() const = 0;
  // Of all processes, in ascending order.
  virtual std::vector<Grant> grants() const = 0;
};

}  // namespace hodo::session
