// Opens an address in the user's browser.
#pragma once

#include <memory>
#include <string>

namespace hodo::cli {

// A file that is removed with this.
class PrivateFile {
 public:
  explicit PrivateFile(std::string path) : path_(std::move(path)) {}
  ~PrivateFile();
  PrivateFile(const PrivateFile&) = delete;
  PrivateFile& operator=(const PrivateFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

struct Opened {
  std::unique_ptr<PrivateFile> file;  // keep it while the page is served
  std::string remark;                 // why no browser was opened, and what to do; may be empty
};

// By xdg-open, where there is a display. The address has a secret, and what a program is started
// with everybody on the machine may read: the browser is given a file that only this user can read,
// and which leads on to the address.
Opened open_in_browser(const std::string& address);

// A word with everything escaped that means something in an address.
std::string in_address(const std::string& word);

}  // namespace hodo::cli
