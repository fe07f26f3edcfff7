// Test fixture: a program in which a pointer leads to a whole function that is not the right one,
// in the way that its argument names, and which then says a word. Nothing here reaches beyond this
// process.
//
// What an attacker would write through a bug in the program, each form writes by itself. Addresses
// of functions that the program itself has nowhere are read from its own file, as an attacker knows
// them.
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <coroutine>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <string>

using Word = std::uintptr_t;
using Function = void (*)();

// Where all forms end.
[[gnu::noinline, noreturn]] void reached() {
  static const char kWord[] = "reached\n";
  [[maybe_unused]] const ssize_t written = write(1, kWord, sizeof kWord - 1);
  _exit(0);
}

extern "C" {
// Nothing but a direct call leads here. (A pointer to a member that is odd is one of a virtual
// one.)
[[gnu::noinline, gnu::used, gnu::aligned(16)]] void untaken() { reached(); }
// This one's address is in a table.
[[gnu::noinline, gnu::used]] void taken() { reached(); }
[[gnu::noinline, gnu::used]] void taken_with_five(long first, long second, long third, long fourth,
                                                  long fifth) {
  if (first + second + third + fourth + fifth != 1) reached();
}
// It reads three arguments.
[[gnu::noinline, gnu::used]] void taken_with_three(long first, long second, long third) {
  if (first + second + third != 1) reached();
}
}

namespace {

// --- what an attacker knows ---

// Where this program and its libc were loaded; dlsym would say that any function may be asked for.
struct Loaded {
  Word program = 0;
  Word libc = 0;
  std::string libc_path;
};
Loaded loaded() {
  Loaded out;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* to) {
        auto& found = *static_cast<Loaded*>(to);
        const std::string name = info->dlpi_name;
        if (name.empty()) found.program = info->dlpi_addr;
        if (name.find("libc.so") == std::string::npos) return 0;
        found.libc = info->dlpi_addr;
        found.libc_path = name;
        return 0;
      },
      &out);
  return out;
}

// The value of a symbol, by the file's symbol table of this type.
Word value_of(const std::string& symbol, const char* path, Elf64_Word type) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  struct stat st{};
  if (fd < 0 || fstat(fd, &st) != 0) std::abort();
  const auto size = static_cast<std::size_t>(st.st_size);
  auto* file = static_cast<char*>(mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0));
  close(fd);
  const auto* header = reinterpret_cast<const Elf64_Ehdr*>(file);
  const auto* sections = reinterpret_cast<const Elf64_Shdr*>(file + header->e_shoff);
  Word out = 0;
  for (int i = 0; i < header->e_shnum; ++i) {
    if (sections[i].sh_type != type) continue;
    const char* names = file + sections[sections[i].sh_link].sh_offset;
    const auto* symbols = reinterpret_cast<const Elf64_Sym*>(file + sections[i].sh_offset);
    for (std::size_t s = 0; s < sections[i].sh_size / sizeof *symbols; ++s) {
      if (names + symbols[s].st_name == symbol) out = symbols[s].st_value;
    }
  }
  munmap(file, size);
  if (out == 0) std::abort();
  return out;
}

Word address_of(const std::string& symbol) {
  return loaded().program + value_of(symbol, "/proc/self/exe", SHT_SYMTAB);
}
Word address_in_libc(const std::string& symbol) {
  const Loaded where = loaded();
  return where.libc + value_of(symbol, where.libc_path.c_str(), SHT_DYNSYM);
}

template <class To>
To pointer_to(const char* name) {
  const Word address = address_of(name);
  To out;
  std::memcpy(&out, &address, sizeof out);
  return out;
}

// Hides from the compiler what it is.
template <class T>
T* unknown(T* p) {
  asm volatile("" : "+r"(p));
  return p;
}

// --- classes ---

struct Shape {
  virtual long area() { return 1; }
  virtual long edges() { return 2; }
  virtual void draw() {}
  virtual ~Shape() = default;
  long sides = 4;
};
struct Square : Shape {
  long area() override { return sides * sides; }
  long edges() override { return sides; }
  void draw() override { ++sides; }
};
struct Named {
  virtual const char* name() { return "named"; }
  virtual ~Named() = default;
};
struct NamedSquare : Square, Named {
  const char* name() override { return sides > 3 ? "square" : "small"; }
};
// Of no kin to shapes.
struct Account {
  virtual long balance() { return total; }
  virtual long grant() { reached(); }
  virtual void close() { reached(); }
  virtual ~Account() = default;
  long total = 3;
};

[[gnu::noinline]] long area_of(Shape* s) { return s->area(); }
[[gnu::noinline]] long edges_of(Shape* s) { return s->edges(); }
[[gnu::noinline]] void draw(Shape* s) { s->draw(); }
[[gnu::noinline]] void destroy(Shape* s) { delete s; }
[[gnu::noinline]] const char* name_of(Named* n) { return n->name(); }

template <class Class>
Word*& vtable_of(Class* object) {
  return *reinterpret_cast<Word**>(object);
}

// Everything is used as it should be once.
void use_classes() {
  for (Shape* s : {unknown<Shape>(new Shape), unknown<Shape>(new Square)}) {
    area_of(s);
    edges_of(s);
    draw(s);
    destroy(s);
  }
  auto* named = new NamedSquare;
  name_of(unknown<Named>(named));
  destroy(named);
  Account* account = unknown(new Account);
  account->balance();
  delete account;
}

Word* forged(std::initializer_list<Word> slots) {
  auto* table = new Word[16]{};
  std::copy(slots.begin(), slots.end(), table);
  return table;
}

// The address of a virtual function, from a vtable.
Word virtual_function(Account* of, int slot) { return vtable_of(of)[slot]; }

void shifted_vtable() {
  Shape* s = unknown<Shape>(new Square);
  // edges() of a class is where area() of this one is looked for.
  vtable_of(s) = vtable_of(unknown(new Account)) + 1;
  area_of(s);
}

void shifted_vtables_in_a_loop() {
  Shape* all[] = {new Square, new Square, new Square};
  vtable_of(unknown(all[1])) += 1;
  vtable_of(unknown(all[2])) = vtable_of(unknown(new Account)) + 2;
  for (Shape* s : all) area_of(s);
}

void vtable_of_other_class() {
  Shape* s = unknown<Shape>(new Square);
  vtable_of(s) = vtable_of(unknown(new Account));
  edges_of(s);
}

void vtables_of_other_classes_in_a_loop() {
  Shape* all[] = {new Square, new Square};
  for (Shape* s : all) vtable_of(unknown(s)) = vtable_of(unknown(new Account));
  for (Shape* s : all) edges_of(s);
}

void vtable_of_untaken() {
  Shape* s = unknown(new Shape);
  vtable_of(s) = forged({address_of("untaken")});
  area_of(s);
}

void vtable_of_taken() {
  Shape* s = unknown(new Shape);
  vtable_of(s) = forged({address_of("taken")});
  area_of(s);
}

void vtable_of_virtual() {
  Shape* s = unknown(new Shape);
  vtable_of(s) = forged({virtual_function(unknown(new Account), 1)});
  area_of(s);
}

void vtable_of_virtual_at_its_slot() {
  Shape* s = unknown(new Shape);
  vtable_of(s) = forged({0, virtual_function(unknown(new Account), 1)});
  edges_of(s);
}

void vtable_with_functions_exchanged() {
  Shape* s = unknown<Shape>(new Square);
  const Word* own = vtable_of(s);
  vtable_of(s) = forged({own[1], virtual_function(unknown(new Account), 2), own[0]});
  area_of(s);
  edges_of(s);
}

void vtable_of_library() {
  Shape* s = unknown(new Shape);
  vtable_of(s) = forged({address_in_libc("getppid")});
  area_of(s);
  reached();
}

void freed_object() {
  Shape* s = unknown<Shape>(new Square);
  const Word table = reinterpret_cast<Word>(forged({address_of("untaken")}));
  delete s;
  auto* words = unknown(static_cast<Word*>(std::malloc(sizeof *s)));  // where it was
  words[0] = table;
  area_of(s);
  if (words != reinterpret_cast<Word*>(s)) _exit(1);
}

void freed_object_of_other_class() {
  Shape* s = unknown<Shape>(new Square);
  delete s;
  Account* other = unknown(new Account);
  edges_of(s);
  if (reinterpret_cast<Word>(other) != reinterpret_cast<Word>(s)) _exit(1);
}

void wrong_cast() { edges_of(static_cast<Shape*>(static_cast<void*>(unknown(new Account)))); }

// The call has seen its own class: what comes then is a stranger.
void other_class_after_its_own() {
  use_classes();
  vtable_of_other_class();
}

void own_class_after_another() {
  area_of(static_cast<Shape*>(static_cast<void*>(unknown(new Account))));
  area_of(unknown<Shape>(new Square));
  reached();
}

void other_class_in_a_loop() {
  Shape* all[] = {new Square, new Square};
  vtable_of(unknown(all[1])) = vtable_of(unknown(new Account));
  for (Shape* s : all) edges_of(s);
}

void freed_object_after_its_use() {
  use_classes();
  freed_object_of_other_class();
}

void virtual_at_its_slot_after_its_own() {
  use_classes();
  vtable_of_virtual_at_its_slot();
}

void destructor() {
  Shape* s = unknown(new Shape);
  vtable_of(s) = forged({0, 0, 0, 0, address_of("untaken")});
  destroy(s);
}

void destructor_of_other_slot() {
  Shape* s = unknown(new Shape);
  vtable_of(s) = forged({0, 0, 0, 0, virtual_function(unknown(new Account), 1)});
  destroy(s);
}

void thunk_at_other_slot() {
  auto* both = new NamedSquare;
  Named* n = unknown<Named>(both);
  // The thunk of the destructor in the second vtable is where its name() is looked for.
  vtable_of(n) += 1;
  name_of(n);
  reached();
}

// --- members ---

struct Plain {
  [[gnu::noinline]] void first() { ++calls; }
  virtual long second() { return calls; }
  virtual long third() { reached(); }
  virtual ~Plain() = default;
  long calls = 0;
};

void member_to_untaken() {
  auto member = &Plain::first;
  (unknown(new Plain)->**unknown(&member))();
  const Word address = address_of("untaken");
  std::memcpy(unknown(&member), &address, sizeof address);
  (unknown(new Plain)->**unknown(&member))();
}

void member_to_virtual() {
  auto member = &Plain::second;
  Word* words = reinterpret_cast<Word*>(unknown(&member));
  words[0] += sizeof(Word);  // the next slot
  (unknown(new Plain)->**unknown(&member))();
}

// --- what the standard library keeps ---

void function_object_to_untaken() {
  int calls = 0;
  std::function<void()> f = [&] { ++calls; };
  f();
  const Word address = address_of("untaken");
  // Behind what it holds and what manages that.
  std::memcpy(reinterpret_cast<char*>(unknown(&f)) + 24, &address, sizeof address);
  f();
}

void function_object_to_another() {
  int calls = 0;
  std::function<void()> f = [&] { ++calls; };
  std::function<void()> g = [] { reached(); };
  std::memcpy(reinterpret_cast<char*>(unknown(&f)) + 24, reinterpret_cast<char*>(unknown(&g)) + 24,
              8);
  f();
}

void shared_pointer() {
  auto shared = std::make_shared<long>(1);
  auto* block = reinterpret_cast<Word**>(unknown(&shared))[1];
  Word* control = unknown(block);
  control[0] = reinterpret_cast<Word>(forged({0, 0, virtual_function(unknown(new Account), 1),
                                              virtual_function(unknown(new Account), 1)}));
  shared.reset();
}

void unique_pointer() {
  std::unique_ptr<int, void (*)(int*)> owner(new int, [](int* p) { delete p; });
  owner.get_deleter() = pointer_to<void (*)(int*)>("untaken");
  owner.reset();
}

void stream_buffer() {
  // 13 words on: overflow().
  vtable_of(std::cout.rdbuf()) = forged({0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
  for (int i = 0; i < 16; ++i) vtable_of(std::cout.rdbuf())[i] = address_of("untaken");
  std::cout << "x" << std::flush;
}

// --- coroutines ---

struct Task {
  struct promise_type {
    Task get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() {}
  };
  std::coroutine_handle<promise_type> handle;
};
Task counts(long& n) {
  ++n;
  co_await std::suspend_always{};
  ++n;
}
Task ends(long& n) {
  if (++n != 0) reached();
  co_await std::suspend_always{};
  ++n;
}

void coroutine_to_untaken() {
  long n = 0;
  Task task = counts(n);
  task.handle.resume();
  *static_cast<Word*>(task.handle.address()) = address_of("untaken");
  std::coroutine_handle<>::from_address(unknown(task.handle.address())).resume();
}

void coroutine_to_another() {
  long n = 0;
  Task task = counts(n);
  Task other = ends(n);
  auto resume = *static_cast<Word*>(other.handle.address());
  *static_cast<Word*>(unknown(task.handle.address())) = resume;
  std::coroutine_handle<>::from_address(unknown(task.handle.address())).resume();
}

// --- pointers of C ---

struct Operations {
  void (*open)();
  void (*close)();
};
void open_file() {}
void close_file() {}
void open_pipe() { reached(); }
const Operations kFiles = {open_file, close_file};
const Operations kPipes = {open_pipe, taken};
struct File {
  const Operations* operations;
};
Function callback = open_file;
void (*callback_of_three)(long, long, long) = taken_with_three;
void (*callback_of_five)(long, long, long, long, long) = taken_with_five;

[[gnu::noinline]] void open_by(File* f) { f->operations->open(); }
[[gnu::noinline]] void call_back() {
  callback();
  asm volatile("");
}
[[gnu::noinline]] void jump_back() { callback(); }

void global_to_untaken() {
  *unknown(&callback) = pointer_to<Function>("untaken");
  call_back();
}
void global_by_tail_call() {
  *unknown(&callback) = pointer_to<Function>("untaken");
  jump_back();
}
void global_to_taken() {
  *unknown(&callback) = taken;
  call_back();
}
void global_to_virtual() {
  const Word address = virtual_function(unknown(new Account), 2);
  std::memcpy(unknown(&callback), &address, sizeof address);
  call_back();
}
void global_to_other_arity() {
  std::memcpy(unknown(&callback), unknown(&callback_of_three), sizeof callback);
  call_back();
}
[[gnu::noinline]] void tell_and_call_back() {
  std::fflush(stdout);
  callback();
  asm volatile("");
}
void more_arguments_after_a_library_call() {
  std::memcpy(unknown(&callback), unknown(&callback_of_five), sizeof callback);
  tell_and_call_back();
}
void more_arguments_passed_on() {
  std::memcpy(unknown(&callback), unknown(&callback_of_five), sizeof callback);
  call_back();
}
void global_to_main() {
  const Word address = address_of("main");
  setenv("HODO_AGAIN", "1", 1);
  std::memcpy(unknown(&callback), &address, sizeof address);
  call_back();
}
void global_to_initialiser() {
  *unknown(&callback) = pointer_to<Function>("_GLOBAL__sub_I__Z7reachedv");
  call_back();
  reached();
}
void global_to_library() {
  const Word address = address_in_libc("getppid");
  std::memcpy(unknown(&callback), &address, sizeof address);
  call_back();
  reached();
}
void global_to_library_that_is_taken() {
  const Word address = reinterpret_cast<Word>(&getpid);
  std::memcpy(unknown(&callback), &address, sizeof address);
  call_back();
  reached();
}
void operations_on_heap() {
  auto* operations = new Operations(kFiles);
  File file{operations};
  open_by(unknown(&file));
  operations->open = pointer_to<Function>("untaken");
  open_by(unknown(&file));
}
void other_operations() {
  File file{&kFiles};
  open_by(unknown(&file));
  file.operations = &kPipes;
  open_by(unknown(&file));
}
void operations_shifted() {
  File file{&kFiles};
  file.operations = reinterpret_cast<const Operations*>(&kPipes.close);
  open_by(unknown(&file));
}

// As GObject's, filled when the program runs.
struct Class {
  void (*finalise)();
  void (*changed)();
};
void filled_class() {
  static Class made;
  made.finalise = open_file;
  made.changed = close_file;
  *unknown(&made.changed) = pointer_to<Function>("untaken");
  unknown(&made)->changed();
}

// --- what the C library calls ---

int compare(const void* a, const void* b) {
  return *static_cast<const int*>(a) - *static_cast<const int*>(b);
}
int (*comparator)(const void*, const void*) = compare;

void sorted_by_untaken() {
  int values[] = {3, 2, 1};
  qsort(values, 3, sizeof *values, compare);
  *unknown(&comparator) = pointer_to<int (*)(const void*, const void*)>("untaken");
  qsort(values, 3, sizeof *values, comparator);
}
void sorted_by_virtual() {
  int values[] = {3, 2, 1};
  const Word address = virtual_function(unknown(new Account), 2);
  std::memcpy(unknown(&comparator), &address, sizeof address);
  qsort(values, 3, sizeof *values, comparator);
}
void at_exit() {
  std::atexit(pointer_to<Function>("untaken"));
  std::exit(0);
}
void signal_handler() {
  signal(SIGUSR1, pointer_to<void (*)(int)>("untaken"));
  raise(SIGUSR1);
}
void thread_start() {
  pthread_t thread{};
  pthread_create(&thread, nullptr, pointer_to<void* (*)(void*)>("untaken"), nullptr);
  pthread_join(thread, nullptr);
}
void cookie() {
  cookie_io_functions_t functions{};
  functions.write = pointer_to<cookie_write_function_t*>("untaken");
  FILE* file = fopencookie(nullptr, "w", functions);
  std::fputs("x", file);
  std::fflush(file);
}
void cookie_to_library() {
  cookie_io_functions_t functions{};
  const Word address = address_in_libc("getpgid");
  std::memcpy(&functions.write, &address, sizeof address);
  FILE* file = fopencookie(nullptr, "w", functions);
  std::fputs("x", file);
  std::fflush(file);
  reached();
}
void headers() {
  dl_iterate_phdr(pointer_to<int (*)(dl_phdr_info*, std::size_t, void*)>("untaken"), nullptr);
}

// --- what the dynamic linker looks up ---

const ElfW(Dyn) * dynamic_entry(ElfW(Sxword) tag) {
  for (const ElfW(Dyn)* d = _DYNAMIC; d->d_tag != DT_NULL; ++d) {
    if (d->d_tag == tag) return d;
  }
  std::abort();
}

// Among what glibc keeps of a file is where each entry of its dynamic section is.
void forge_entry(ElfW(Sxword) tag, const ElfW(Dyn) & forged) {
  const auto* debug = reinterpret_cast<const r_debug*>(dynamic_entry(DT_DEBUG)->d_un.d_ptr);
  auto* map = reinterpret_cast<Word*>(debug->r_map);
  std::replace(map, map + 80, reinterpret_cast<Word>(dynamic_entry(tag)),
               reinterpret_cast<Word>(&forged));
}

// Its own copy of the program's names, in which one is exchanged for another.
void name_exchanged() {
  static std::string names;
  names.assign(reinterpret_cast<const char*>(dynamic_entry(DT_STRTAB)->d_un.d_ptr),
               dynamic_entry(DT_STRSZ)->d_un.d_val);
  names.replace(names.find("getppid"), 7, "getpgrp");
  static ElfW(Dyn) forged{};
  forged.d_un.d_ptr = reinterpret_cast<Word>(names.data());
  forge_entry(DT_STRTAB, forged);
  setpgid(0, 0);
  if (getppid() == getpid()) reached();
}

// --- what the dynamic linker calls ---

// Another array of what is called at the end, of a function that is in a table of the program's.
void finished_by_taken() {
  static Word functions[] = {address_of("taken")};
  static ElfW(Dyn) forged{};
  forged.d_un.d_ptr = reinterpret_cast<Word>(functions) - loaded().program;
  forge_entry(DT_FINI_ARRAY, forged);
  std::exit(0);
}

void none() {
  use_classes();
  call_back();
  if (std::getenv("HODO_NEVER") != nullptr) {
    untaken();
    callback_of_three(0, 0, 0);
    callback_of_five(0, 0, 0, 0, 0);
  }
  reached();
}

const std::map<std::string, Function> kForms = {
    {"none", none},
    {"shifted-vtable", shifted_vtable},
    {"shifted-vtables-in-a-loop", shifted_vtables_in_a_loop},
    {"vtable-of-other-class", vtable_of_other_class},
    {"vtables-of-other-classes-in-a-loop", vtables_of_other_classes_in_a_loop},
    {"other-class-after-its-own", other_class_after_its_own},
    {"own-class-after-another", own_class_after_another},
    {"other-class-in-a-loop", other_class_in_a_loop},
    {"freed-object-after-its-use", freed_object_after_its_use},
    {"virtual-at-its-slot-after-its-own", virtual_at_its_slot_after_its_own},
    {"vtable-of-untaken", vtable_of_untaken},
    {"vtable-of-taken", vtable_of_taken},
    {"vtable-of-virtual", vtable_of_virtual},
    {"vtable-of-virtual-at-its-slot", vtable_of_virtual_at_its_slot},
    {"vtable-with-functions-exchanged", vtable_with_functions_exchanged},
    {"vtable-of-library", vtable_of_library},
    {"freed-object", freed_object},
    {"freed-object-of-other-class", freed_object_of_other_class},
    {"wrong-cast", wrong_cast},
    {"destructor", destructor},
    {"destructor-of-other-slot", destructor_of_other_slot},
    {"thunk-at-other-slot", thunk_at_other_slot},
    {"member-to-untaken", member_to_untaken},
    {"member-to-virtual", member_to_virtual},
    {"function-object-to-untaken", function_object_to_untaken},
    {"function-object-to-another", function_object_to_another},
    {"shared-pointer", shared_pointer},
    {"unique-pointer", unique_pointer},
    {"stream-buffer", stream_buffer},
    {"coroutine-to-untaken", coroutine_to_untaken},
    {"coroutine-to-another", coroutine_to_another},
    {"name-exchanged", name_exchanged},
    {"global-to-untaken", global_to_untaken},
    {"global-by-tail-call", global_by_tail_call},
    {"global-to-taken", global_to_taken},
    {"global-to-virtual", global_to_virtual},
    {"global-to-other-arity", global_to_other_arity},
    {"more-arguments-after-a-library-call", more_arguments_after_a_library_call},
    {"more-arguments-passed-on", more_arguments_passed_on},
    {"global-to-main", global_to_main},
    {"global-to-initialiser", global_to_initialiser},
    {"global-to-library", global_to_library},
    {"global-to-library-that-is-taken", global_to_library_that_is_taken},
    {"operations-on-heap", operations_on_heap},
    {"other-operations", other_operations},
    {"operations-shifted", operations_shifted},
    {"filled-class", filled_class},
    {"sorted-by-untaken", sorted_by_untaken},
    {"sorted-by-virtual", sorted_by_virtual},
    {"at-exit", at_exit},
    {"signal-handler", signal_handler},
    {"thread-start", thread_start},
    {"cookie", cookie},
    {"cookie-to-library", cookie_to_library},
    {"headers", headers},
    {"finished-by-taken", finished_by_taken},
};

}  // namespace

int main(int argc, char** argv) {
  if (std::getenv("HODO_AGAIN") != nullptr) reached();
  const auto form = argc == 2 ? kForms.find(argv[1]) : kForms.end();
  if (form == kForms.end()) {
    for (const auto& [name, function] : kForms) std::printf("%s\n", name.c_str());
    return 2;
  }
  form->second();
  return 1;
}
