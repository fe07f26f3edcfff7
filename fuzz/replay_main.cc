// Runs a fuzz target over files instead of under libFuzzer: `fuzz_NAME PATH...`, where a path is a
// file or a folder, which is searched with all below it. No file at all is a failure, so that a
// corpus that got lost does not pass for one that was run.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

namespace fs = std::filesystem;

std::optional<std::vector<std::uint8_t>> read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  std::vector<std::uint8_t> bytes(std::istreambuf_iterator<char>(file), {});
  if (file.bad()) return std::nullopt;
  bytes.shrink_to_fit();  // else a sanitizer does not see a read behind the input
  return bytes;
}

// Appends `path`, or the files below it. False if it cannot be looked into.
bool collect(const fs::path& path, std::vector<fs::path>& files) {
  std::error_code error;
  if (!fs::is_directory(path, error)) {
    files.push_back(path);
    return true;
  }
  fs::recursive_directory_iterator entry(path, error);
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    if (entry->is_regular_file(error)) files.push_back(entry->path());
  }
  return !error;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<fs::path> files;
  for (int i = 1; i < argc; ++i) {
    if (collect(argv[i], files)) continue;
    std::fprintf(stderr, "cannot read folder %s\n", argv[i]);
    return 1;
  }
  for (const fs::path& path : files) {
    const auto bytes = read_file(path);
    if (!bytes) {
      std::fprintf(stderr, "cannot read %s\n", path.c_str());
      return 1;
    }
    std::printf("%s\n", path.c_str());
    std::fflush(stdout);  // the last line names the input of a crash
    LLVMFuzzerTestOneInput(bytes->data(), bytes->size());
  }
  std::printf("%zu inputs\n", files.size());
  if (!files.empty()) return 0;
  std::fprintf(stderr, "no input to replay\n");
  return 1;
}
