#include "hodo/text/names.h"

#include <algorithm>
#include <array>

#include "hodo/text/module.h"

namespace hodo::text {
namespace {

constexpr std::array<std::string_view, 46> kSensitive = {
    // Start programs.
    "system",
    "do_system",
    "popen",
    "execl",
    "execle",
    "execlp",
    "execv",
    "execve",
    "execvp",
    "execvpe",
    "execveat",
    "fexecve",
    "posix_spawn",
    "posix_spawnp",
    "wordexp",
    // Make memory executable, or files of memory.
    "mprotect",
    "pkey_mprotect",
    "mmap",
    "mmap64",
    "memfd_create",
    "shmat",
    "personality",
    // Load libraries and look up what is in them.
    "dlopen",
    "dlmopen",
    "dlsym",
    "dlvsym",
    // Change rights.
    "setuid",
    "seteuid",
    "setreuid",
    "setresuid",
    "setfsuid",
    "setgid",
    "setegid",
    "setregid",
    "setresgid",
    "setfsgid",
    "setgroups",
    "initgroups",
    "capset",
    "chroot",
    "pivot_root",
    "unshare",
    "setns",
    // Change other processes.
    "ptrace",
    "process_vm_writev",
    // Any of these.
    "syscall",
};

// What file names of code generators begin with: Java, V8, .NET, JavaScriptCore, SpiderMonkey, Lua,
// PCRE2, libffi's closures, PyPy, PHP and its cache, Ruby, Erlang, LLVM's and GCC's JIT, QEMU,
// Wine, SBCL, Mono, Chez Scheme, Guile, Chromium, Qt's QML, MoarVM, Poly/ML, MIT Scheme, DOSBox,
// Ikarus, the tools of Valgrind, ORC, Unicorn, libffcall's closures and TCC.
constexpr std::array<Generator, 57> kGenerators = {{
    {"libjvm.so", ""},
    {"node", "_ZN2v8"},
    {"libnode.so", ""},
    {"libv8", ""},
    {"libcoreclr.so", ""},
    {"libmono", ""},
    {"libjavascriptcoregtk", ""},
    {"libmozjs", ""},
    {"libxul.so", ""},
    {"libluajit", ""},
    {"luajit", "LuaJIT"},
    {"libpcre2-", ""},
    {"libpcre.so", ""},
    {"libffi.so", ""},
    {"pypy", "pypy_"},
    {"libpypy", ""},
    {"php", "zend_"},
    {"opcache.so", ""},
    {"ruby", "ruby_"},
    {"libruby-", ""},
    {"beam", "enif_"},
    {"libLLVM", ""},
    {"libgccjit.so", ""},
    {"qemu-", "QEMU_"},
    {"wine", "WINE"},
    {"sbcl", "SBCL_HOME"},
    {"mono", "mono_jit"},
    {"racket", "S_generic_invoke"},
    {"gracket", "S_generic_invoke"},
    {"scheme", "S_generic_invoke"},
    {"chezscheme", "S_generic_invoke"},
    {"petite", "S_generic_invoke"},
    {"libguile-", ""},
    {"chromium", "v8::internal"},
    {"chrome", "v8::internal"},
    {"libQt5Qml.so", ""},
    {"libQt6Qml.so", ""},
    {"libmoar.so", ""},
    {"libpolyml.so", ""},
    {"mit-scheme", "MITSCHEME_"},
    {"dosbox", "DOSBox"},
    {"ikarus", "ik_asm_enter"},
    {"memcheck-", "VALGRIND_LIB"},
    {"cachegrind-", "VALGRIND_LIB"},
    {"callgrind-", "VALGRIND_LIB"},
    {"helgrind-", "VALGRIND_LIB"},
    {"drd-", "VALGRIND_LIB"},
    {"massif-", "VALGRIND_LIB"},
    {"dhat-", "VALGRIND_LIB"},
    {"lackey-", "VALGRIND_LIB"},
    {"exp-bbv-", "VALGRIND_LIB"},
    {"none-amd64", "VALGRIND_LIB"},
    {"liborc-0.4.so", ""},
    {"libunicorn.so", ""},
    {"libffcall.so", ""},
    {"tcc", "libtcc1", true},
    {"libtcc.so", "", true},
}};

}  // namespace

bool returns_twice(std::string_view function) {
  return function.ends_with("setjmp") || function == "getcontext";
}

bool is_sensitive(std::string_view function) {
  return std::ranges::find(kSensitive, function) != kSensitive.end();
}

bool depends_on_arguments(std::string_view function) {
  return function == "mmap" || function == "mmap64";
}

bool replaces_program(std::string_view function) { return function.starts_with("exec"); }

bool loads_libraries(std::string_view function) {
  return function == "dlopen" || function == "dlmopen" || function == "__libc_dlopen_mode";
}

const Generator* find_generator(std::string_view name) {
  const auto found = std::ranges::find_if(
      kGenerators, [&](const Generator& g) { return name.starts_with(g.name); });
  return found == kGenerators.end() ? nullptr : &*found;
}

const Generator* find_joined_generator(const Module& module) {
  static constexpr std::array<Generator, 3> kJoined = {{
      {"", "SBCL_HOME"},
      {"", "S_generic_invoke"},
      {"", "LuaJIT 2."},
  }};
  const auto found =
      std::ranges::find_if(kJoined, [&](const Generator& g) { return module.contains(g.content); });
  return found == kJoined.end() ? nullptr : &*found;
}

bool keeps_code_as_data(const Module& module) {
  return module.contains("GCL (GNU Common Lisp)") && module.contains("siLsave_system");
}

std::string_view without_stub(std::string_view name) {
  constexpr std::string_view kStub = "@plt";
  if (name.ends_with(kStub)) name.remove_suffix(kStub.size());
  return name;
}

std::string_view file_name(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

}  // namespace hodo::text
