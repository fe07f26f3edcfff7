// What a fuzzer does after each run: Intel PT packets into an AFL-style coverage map.
//   coverage_map pages:pages.addr:pages.dump trace.pt...
#include <algorithm>
#include <cstdio>
#include <vector>

#include "hodo/flow/coverage.h"
#include "hodo/flow/decoder.h"
#include "hodo/image/file.h"
#include "hodo/image/raw_image.h"

namespace {

int fail(const hodo::Error& error) {
  std::fprintf(stderr, "%s\n", error.message.c_str());
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return std::fprintf(stderr, "usage: %s IMAGE TRACE...\n", argv[0]), 2;
  hodo::image::ContentStore store;
  hodo::image::AddressSpace code;
  auto image = hodo::image::parse_image(argv[1]);
  if (!image) return fail(image.error());
  if (auto mapped = hodo::image::map_image(*image, store, code); !mapped) {
    return fail(mapped.error());
  }
  // One decoder for all runs: what it learns about the code makes the later ones fast.
  hodo::flow::Decoder decoder(code, {});
  std::vector<std::uint8_t> map(65536);
  for (int i = 2; i < argc; ++i) {
    auto file = hodo::image::RegularFile::open(argv[i]);
    if (!file) return fail(file.error());
    auto trace = file->read_all(std::uint64_t{1} << 30);
    if (!trace) return fail(trace.error());
    std::size_t before = map.size() - std::ranges::count(map, 0);
    hodo::flow::Bitmap bitmap(map);
    const hodo::flow::Piece piece{.bytes = *trace};
    hodo::flow::Stats stats = decoder.cover({&piece, 1}, bitmap);
    std::size_t now = map.size() - std::ranges::count(map, 0);
    std::printf("%s: %llu instructions, %zu new bytes in the map, %llu losses\n", argv[i],
                static_cast<unsigned long long>(stats.instructions), now - before,
                static_cast<unsigned long long>(stats.total_losses()));
  }
  return 0;
}
