// Names from the ELF files that were named as images of a raw trace.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "hodo/image/raw_image.h"
#include "hodo/session/names.h"

namespace hodo::session {

class ImageNames final : public Names {
 public:
  // Later images hide earlier ones. What cannot be read has no names.
  void add(const image::ElfImage& image, const symbol::SourcePaths& sources);

  Place place(std::uint32_t space, std::uint64_t address, std::uint64_t time) const override {
    return place_in(object(space, address, time));
  }
  Object object(std::uint32_t space, std::uint64_t address, std::uint64_t time) const override;
  std::uint32_t generation(std::uint32_t, std::uint64_t) const override { return 0; }
  std::vector<const symbol::SymbolTable*> tables() const override;

 private:
  struct Image {
    std::string path;
    std::uint64_t bias = 0;  // from the file's addresses to memory
    std::shared_ptr<const symbol::SymbolTable> table;
  };
  std::vector<Image> images_;
};

}  // namespace hodo::session
