// Test fixture: a program in which PCRE2's generator has made code, and which then runs code that
// somebody else made, in the way that its argument names. Nothing here reaches beyond this process.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <thread>

namespace {

using Function = void (*)();

constexpr std::size_t kPage = 4096;
constexpr int kBoth = PROT_READ | PROT_WRITE;
constexpr int kAll = kBoth | PROT_EXEC;

unsigned char* new_page(int rights) {
  void* page = mmap(nullptr, kPage, rights, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return static_cast<unsigned char*>(page);
}

void run(void* code) { reinterpret_cast<Function>(code)(); }

// mov eax, 42; nop; ret
[[gnu::used]] const unsigned char kCode[] = {0xb8, 42, 0, 0, 0, 0x0f, 0x1f, 0, 0xc3};
void write_code(unsigned char* to) { std::memcpy(to, kCode, sizeof kCode); }

unsigned char* make_code() {
  unsigned char* page = new_page(kAll);
  write_code(page);
  return page;
}

void own_mapping() { run(make_code()); }

// The program is a generator itself: what it writes it has nowhere before.
unsigned char* emit(unsigned char* to, unsigned value) {
  *to++ = 0xb8;  // mov eax, VALUE
  std::memcpy(to, &value, sizeof value);
  return to + sizeof value;
}

void made() {
  unsigned char* page = new_page(kAll);
  *emit(page, 1234567) = 0xc3;
  run(page);
}

void made_by_thread() {
  unsigned char* page = nullptr;
  std::thread([&] { *emit(page = new_page(kAll), 7654321) = 0xc3; }).join();
  run(page);
}

// getpid(), by its number.
void made_to_call() {
  unsigned char* page = new_page(kAll);
  unsigned char* end = emit(page, 39);
  std::memcpy(end, "\x0f\x05\xc3", 3);
  run(page);
}

void made_by_thread_to_call() {
  unsigned char* page = nullptr;
  std::thread([&] { std::memcpy(emit(page = new_page(kAll), 39), "\x0f\x05\xc3", 3); }).join();
  run(page);
}

// The same by INT 0x80, and its number there.
void made_to_interrupt() {
  unsigned char* page = new_page(kAll);
  unsigned char* end = emit(page + 1, 20);
  std::memcpy(end, "\xcd\x80\x5b\xc3", 4);
  *page = 0x53;  // push rbx
  run(page);
}

// The system call of another function, in the midst of that.
void emit_call_inside(unsigned char* to, bool by_return) {
  const auto* call = reinterpret_cast<const unsigned char*>(dlsym(RTLD_DEFAULT, "getpid"));
  while (call[0] != 0x0f || call[1] != 0x05) ++call;
  to = emit(to, 39);
  std::memcpy(to, "\x48\xba", 2);  // mov rdx, CALL
  std::memcpy(to + 2, &call, sizeof call);
  std::memcpy(to + 10, by_return ? "\x52\xc3" : "\xff\xe2", 2);  // push rdx; ret, or jmp rdx
}

void made_to_jump_inside() {
  unsigned char* page = new_page(kAll);
  emit_call_inside(page, false);
  run(page);
}

void made_to_return_inside() {
  unsigned char* page = new_page(kAll);
  emit_call_inside(page, true);
  run(page);
}

void made_by_thread_to_jump_inside() {
  unsigned char* page = nullptr;
  std::thread([&] { emit_call_inside(page = new_page(kAll), false); }).join();
  run(page);
}

void in_file() {
  const int file = open("code.bin", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (write(file, kCode, sizeof kCode) != sizeof kCode) return;
  run(mmap(nullptr, kPage, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0));
}

void own_rights() {
  unsigned char* page = new_page(kBoth);
  write_code(page);
  mprotect(page, kPage, PROT_READ | PROT_EXEC);
  run(page);
}

void own_place() {
  unsigned char* page = make_code();
  run(mremap(page, kPage, kPage, MREMAP_MAYMOVE | MREMAP_FIXED, new_page(kBoth)));
}

void of_thread() {
  unsigned char* page = nullptr;
  std::thread([&] { page = make_code(); }).join();
  run(page);
}

void of_parent() {
  unsigned char* page = make_code();
  const pid_t child = fork();
  if (child == 0) {
    run(page);
    _exit(0);
  }
  waitpid(child, nullptr, 0);
}

// Where memory without a file begins that can be executed.
std::set<std::uintptr_t> places_of_code() {
  std::FILE* maps = std::fopen("/proc/self/maps", "re");
  std::set<std::uintptr_t> out;
  char line[512];
  while (std::fgets(line, sizeof line, maps) != nullptr) {
    char rights[8];
    unsigned long begin = 0;
    unsigned long inode = 1;
    std::sscanf(line, "%lx-%*x %7s %*x %*s %lu", &begin, rights, &inode);
    if (inode == 0 && rights[2] == 'x' && std::strchr(line, '[') == nullptr) out.insert(begin);
  }
  std::fclose(maps);
  return out;
}

unsigned char* generated_page = nullptr;

void taken() {
  mprotect(generated_page, kPage, kAll);
  write_code(generated_page);
  run(generated_page);
}

void written() {
  write_code(generated_page);
  run(generated_page);
}

void nothing() {}

// As libffi's closures begin, and leads to a function of the program.
void closure() {
  constexpr unsigned char kCode[] = {0xf3, 0x0f, 0x1e, 0xfa, 0x4c, 0x8d, 0x15, 0xf5, 0xff,
                                     0xff, 0xff, 0xff, 0x25, 0x07, 0,    0,    0};
  constexpr std::size_t kWord = 24;
  dlopen("libffi.so.8", RTLD_NOW);
  unsigned char* page = new_page(kAll);
  const Function target = nothing;
  std::memcpy(page, kCode, sizeof kCode);
  std::memcpy(page + kWord, &target, sizeof target);
  run(page);
}

// A library that no file has: a copy of PCRE2's own.
void library_in_memory() {
  Dl_info info{};
  void* const pcre = dlopen("libpcre2-8.so.0", RTLD_NOW);
  if (dladdr(dlsym(pcre, "pcre2_compile_8"), &info) == 0) return;
  const int from = open(info.dli_fname, O_RDONLY | O_CLOEXEC);
  const int memory = memfd_create("library", 0);
  char bytes[4 * kPage];
  for (ssize_t got; (got = read(from, bytes, sizeof bytes)) > 0;) {
    if (write(memory, bytes, static_cast<std::size_t>(got)) != got) return;
  }
  if (dlopen(("/proc/self/fd/" + std::to_string(memory)).c_str(), RTLD_NOW) == nullptr) _exit(1);
}

// Has PCRE2 make code, and runs that.
bool generate() {
  void* const pcre = dlopen("libpcre2-8.so.0", RTLD_NOW);
  if (pcre == nullptr) return false;
  const auto find = [pcre]<class F>(F*& function, const char* name) {
    function = reinterpret_cast<F*>(dlsym(pcre, name));
  };
  void* (*compile)(const char*, std::size_t, std::uint32_t, int*, std::size_t*, void*);
  int (*jit)(void*, std::uint32_t);
  void* (*room)(void*, void*);
  int (*match)(void*, const char*, std::size_t, std::size_t, std::uint32_t, void*, void*);
  find(compile, "pcre2_compile_8");
  find(jit, "pcre2_jit_compile_8");
  find(room, "pcre2_match_data_create_from_pattern_8");
  find(match, "pcre2_match_8");
  int error = 0;
  std::size_t offset = 0;
  void* const code = compile("o+b", 3, 0, &error, &offset, nullptr);
  return jit(code, 1) == 0 && match(code, "foob", 4, 0, 0, room(code, nullptr), nullptr) == 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::map<std::string, Function> forms = {
      {"none", nothing},
      {"own-mapping", own_mapping},
      {"in-file", in_file},
      {"library-in-memory", library_in_memory},
      {"own-rights", own_rights},
      {"own-place", own_place},
      {"of-thread", of_thread},
      {"of-parent", of_parent},
      {"closure", closure},
      {"taken", taken},
      {"written", written},
      {"made", made},
      {"made-by-thread", made_by_thread},
      {"made-to-call", made_to_call},
      {"made-by-thread-to-call", made_by_thread_to_call},
      {"made-to-interrupt", made_to_interrupt},
      {"made-to-jump-inside", made_to_jump_inside},
      {"made-to-return-inside", made_to_return_inside},
      {"made-by-thread-to-jump-inside", made_by_thread_to_jump_inside},
  };
  const auto form = argc == 2 ? forms.find(argv[1]) : forms.end();
  if (form == forms.end()) return 2;
  const std::set<std::uintptr_t> before = places_of_code();
  if (!generate()) return 77;
  for (const std::uintptr_t place : places_of_code()) {
    if (!before.contains(place)) generated_page = reinterpret_cast<unsigned char*>(place);
  }
  form->second();
  std::puts("reached");
  return 0;
}
