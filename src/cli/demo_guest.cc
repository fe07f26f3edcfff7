#include "demo_guest.h"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "hodo/capture/fd.h"
#include "hodo/image/elf.h"
#include "hodo/image/file.h"
#include "hodo/view/output.h"
#include "output_file.h"

namespace hodo::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kBusybox = "/bin/busybox";
constexpr std::uint64_t kLargestBusybox = 64 << 20;

constexpr std::string_view kBegin =
    "#!/bin/busybox sh\n"
    "/bin/busybox --install -s /bin\n"
    "mount -t proc proc /proc\n"
    "mount -t devtmpfs dev /dev\n";
constexpr std::string_view kEnd =
    "\n"
    "grep -qw stay /proc/cmdline && { echo 'guest: ready'; sleep 86400; }\n"
    "poweroff -f\n";

// Of the package's 400 MB only one file is wanted, so it is fetched and not installed. $1: where
// to.
constexpr const char* kFetchKernel = R"(set -e
cd "$1"
name=$(apt-cache depends linux-image-amd64 | sed -n 's/^ *Depends: \(linux-image-[^ ]*\)$/\1/p' | head -n 1)
[ -n "$name" ]
apt-get -q download "$name" >&2
for package in linux-image-*.deb; do
  dpkg-deb --fsys-tarfile "$package" | tar -x --wildcards './boot/vmlinuz*'
  rm -f "$package"
done
)";

// An initramfs: cpio in the "newc" format (Documentation/driver-api/early-userspace/buffer-format).
class Archive {
 public:
  void add(std::string_view name, std::uint32_t mode, std::string_view content = {},
           unsigned device_major = 0, unsigned device_minor = 0) {
    bytes_ += fmt::format(
        "070701{:08x}{:08x}{:08x}{:08x}{:08x}{:08x}{:08x}{:08x}{:08x}{:08x}{:08x}"
        "{:08x}{:08x}",
        ++count_, mode, 0, 0, 1, 0, content.size(), 0, 0, device_major, device_minor,
        name.size() + 1, 0);
    bytes_ += name;
    bytes_ += '\0';
    pad();
    bytes_ += content;
    pad();
  }
  std::string finish() {
    add("TRAILER!!!", 0);
    return std::move(bytes_);
  }

 private:
  void pad() { bytes_.resize((bytes_.size() + 3) / 4 * 4); }

  std::string bytes_;
  unsigned count_ = 0;
};

// The newest that can be read; empty: there is none.
std::string kernel_in(const fs::path& boot) {
  std::vector<std::string> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(boot, error)) {
    const std::string name = entry.path().filename();
    const bool debian = name.starts_with("vmlinuz-") && name.ends_with("-amd64");
    if (debian && ::access(entry.path().c_str(), R_OK) == 0) found.push_back(entry.path());
  }
  const auto newest = std::ranges::max_element(
      found, [](const auto& a, const auto& b) { return ::strverscmp(a.c_str(), b.c_str()) < 0; });
  return newest == found.end() ? "" : *newest;
}

bool run_shell(const char* script, const std::string& argument) {
  std::string shell = "sh", option = "-c", text = script, word = argument;
  char* const words[] = {shell.data(), option.data(), text.data(),
                         shell.data(), word.data(),   nullptr};
  pid_t pid = -1;
  if (posix_spawn(&pid, "/bin/sh", nullptr, nullptr, words, environ) != 0) return false;
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

Result<std::string> find_kernel(const std::string& folder, const std::string& wanted) {
  if (!wanted.empty()) {
    if (::access(wanted.c_str(), R_OK) == 0) return wanted;
    return fail(ErrorCode::not_found, fmt::format("--kernel {}: cannot be read", wanted));
  }
  for (const fs::path& boot : {fs::path("/boot"), fs::path(folder) / "boot"}) {
    if (std::string kernel = kernel_in(boot); !kernel.empty()) return kernel;
  }
  fmt::print(stderr, "hodo: fetching Debian's kernel into {}, once\n", folder);
  const bool fetched = run_shell(kFetchKernel, folder);
  if (std::string kernel = kernel_in(fs::path(folder) / "boot"); fetched && !kernel.empty()) {
    return kernel;
  }
  return fail(ErrorCode::not_found,
              "there is no kernel for the guest: /boot has none of Debian's that can be read, and "
              "the package linux-image-amd64 could not be fetched with apt-get; remedy: as root "
              "apt-get install linux-image-amd64, or name an image with --kernel");
}

Result<std::string> read_busybox() {
  const std::string remedy = "; remedy: apt-get install busybox-static";
  const auto elf = image::read_elf_file(kBusybox);
  if (!elf) return fail(ErrorCode::not_found, elf.error().message + remedy);
  if (!elf->interpreter.empty()) {
    return fail(ErrorCode::not_found,
                fmt::format("{} needs libraries, which the guest has not{}", kBusybox, remedy));
  }
  const auto file = image::RegularFile::open(kBusybox);
  if (!file) return std::unexpected(file.error());
  const auto bytes = file->read_all(kLargestBusybox);
  if (!bytes) return std::unexpected(bytes.error());
  return std::string(bytes->begin(), bytes->end());
}

bool in_path(const std::string& program) {
  const char* path = std::getenv("PATH");
  std::string_view rest = path != nullptr ? path : "/usr/bin:/bin";
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    const std::string place = std::string(rest.substr(0, end)) + "/" + program;
    if (::access(place.c_str(), X_OK) == 0) return true;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return false;
}

Status write_initramfs(const std::string& path, const std::string& busybox,
                       const std::string& script) {
  Archive archive;
  for (const char* folder : {"bin", "proc", "dev", "tmp"}) archive.add(folder, 040755);
  archive.add("dev/console", 020600, {}, 5, 1);
  archive.add("bin/busybox", 0100755, busybox);
  archive.add("init", 0100755, std::string(kBegin) + script + std::string(kEnd));
  auto file = OutputFile::open(path);
  if (!file) return std::unexpected(file.error());
  view::Output out(file->fd());
  out.write(archive.finish());
  const Status written = out.finish();
  return written ? file->keep() : written;
}

}  // namespace

std::string demo_folder() {
  const char* xdg = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  if (xdg != nullptr && xdg[0] == '/') return std::string(xdg) + "/hodoscope/vm-demo";
  if (home != nullptr && home[0] == '/') return std::string(home) + "/.cache/hodoscope/vm-demo";
  return "";
}

Result<DemoGuest> make_demo_guest(const std::string& folder, const std::string& kernel,
                                  const std::string& script) {
  if (!in_path("qemu-system-x86_64")) {
    return fail(ErrorCode::not_found,
                "qemu-system-x86_64 is not installed; remedy: apt-get install qemu-system-x86");
  }
  const auto busybox = read_busybox();
  if (!busybox) return std::unexpected(busybox.error());
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) {
    return fail(ErrorCode::not_permitted,
                fmt::format("cannot make {}: {}", folder, error.message()));
  }
  auto image = find_kernel(folder, kernel);
  if (!image) return std::unexpected(image.error());
  DemoGuest guest{.kernel = *std::move(image), .initramfs = folder + "/initramfs"};
  if (Status status = write_initramfs(guest.initramfs, *busybox, script); !status) {
    return std::unexpected(status.error());
  }
  return guest;
}

std::vector<std::string> demo_machine(const DemoGuest& guest, const std::string& boot) {
  return {"qemu-system-x86_64",
          "-m",
          "256",
          "-display",
          "none",
          "-serial",
          "stdio",
          "-no-reboot",
          "-nodefaults",
          "-net",
          "none",
          "-kernel",
          guest.kernel,
          "-initrd",
          guest.initramfs,
          "-append",
          "console=ttyS0 quiet panic=-1" + boot};
}

}  // namespace hodo::cli
