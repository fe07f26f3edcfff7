// Where a command writes that takes -o FILE.
#pragma once

#include <sys/stat.h>

#include <string>
#include <string_view>
#include <vector>

#include "hodo/base/fd.h"
#include "hodo/base/result.h"

namespace hodo::cli {

// What is written takes its place in keep(): until then an old file is what it was, and no new one
// is there. Pipes, devices and files that nothing could take the place of (with other links,
// mounted, open here as a standard stream, in a folder that is not to be written to) are written to
// as they are.
class OutputFile {
 public:
  // For the file at `path`; an empty path and "-" stand for standard output. `inputs`: the files
  // that are read, whatever they are called there. io: it cannot be written. usage: it is one of
  // `inputs`. Nothing has happened to it then.
  static Result<OutputFile> open(const std::string& path,
                                 const std::vector<std::string>& inputs = {});
  OutputFile(OutputFile&& other) noexcept;
  // Without keep() before it the file is what it was.
  ~OutputFile();

  // The descriptor to write to.
  int fd() const;
  // When all is written. io: it could not be put in its place, which holds what it held.
  Status keep();

 private:
  OutputFile() = default;
  bool begin_beside(const std::string& target);
  bool take_after(const struct stat& old);
  void drop();

  Fd file_;                 // none: standard output
  std::string path_;        // as the user says it
  std::string target_;      // whose place it takes; empty: it is in its place
  std::string unfinished_;  // its name until then; empty: it has none
};

// Whether a recording can go to `path`. usage: not to standard output, for which "-" stands.
Status check_recording_path(const std::string& path);

// Prints a text that is all of a command's output; its exit status, with a message if it could not
// be written.
int print_text(std::string_view text);

}  // namespace hodo::cli
