// What the tests of the view share: output caught in a file, and names from a table.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <map>
#include <string>

#include "hodo/session/names.h"
#include "hodo/view/output.h"

namespace hodo::view {

// Output into memory.
class Caught {
 public:
  Caught() : fd_(memfd_create("caught", 0)), out_(fd_) {}
  ~Caught() { close(fd_); }
  Output& out() { return out_; }
  std::string text() {
    EXPECT_TRUE(out_.finish().has_value());
    std::string all(static_cast<std::size_t>(lseek(fd_, 0, SEEK_END)), '\0');
    EXPECT_EQ(pread(fd_, all.data(), all.size(), 0), static_cast<ssize_t>(all.size()));
    return all;
  }

 private:
  int fd_;
  Output out_;
};

class TableNames : public session::Names {
 public:
  std::map<std::uint64_t, session::Place> places;
  session::Place place(std::uint32_t, std::uint64_t address, std::uint64_t) const override {
    ++asked;
    auto it = places.find(address);
    return it == places.end() ? session::Place{} : it->second;
  }
  session::Object object(std::uint32_t, std::uint64_t, std::uint64_t) const override { return {}; }
  std::uint32_t generation(std::uint32_t, std::uint64_t time) const override {
    return time < changes_at ? 0 : 1;
  }
  std::uint64_t changes_at = ~std::uint64_t{0};
  mutable int asked = 0;
};

}  // namespace hodo::view
