// Runs the built command.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace hodo::cli {

struct Ran {
  int status = -1;  // exit status; 128 + signal
  std::string out;
  std::string err;
};

inline std::string contents(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream all;
  all << in.rdbuf();
  return all.str();
}

// A folder of its own per test, and the command run in it.
class Command : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "hodo-cli-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string at(const std::string& name) const { return (folder_ / name).string(); }
  void write(const std::string& name, const std::string& bytes) {
    std::ofstream(at(name), std::ios::binary) << bytes;
  }

  // `arguments` as in a shell; standard output and error are no terminals.
  Ran hodo(const std::string& arguments, const std::string& environment = "") {
    std::string line = "cd '" + folder_.string() + "' && " + environment + " '" + HODO_BINARY +
                       "' " + arguments + " > stdout 2> stderr";
    int status = std::system(line.c_str());
    Ran ran;
    ran.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    ran.out = contents(folder_ / "stdout");
    ran.err = contents(folder_ / "stderr");
    return ran;
  }

  std::filesystem::path folder_;
};

// The folder with traces of real processors; empty where there is none.
inline std::string real_traces() {
  const char* shared = std::getenv("HODO_SHARED");
  std::filesystem::path root = shared != nullptr ? shared : HODO_SOURCE "/../shared";
  std::filesystem::path traces = root / "traces";
  return std::filesystem::is_directory(traces) ? traces.string() : "";
}

}  // namespace hodo::cli
