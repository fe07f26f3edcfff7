// An auditing library (LD_AUDIT) that wants to know when functions return: the dynamic linker then
// calls them. With HODO_AUDIT_FORGED it is an attack, which has calls of getppid lead to another
// function.
#define _GNU_SOURCE
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pid_t forged(void) { return 1; }

unsigned la_version(unsigned version) { return version; }

unsigned la_objopen(struct link_map* map, Lmid_t lmid, uintptr_t* cookie) {
  (void)map, (void)lmid, (void)cookie;
  return LA_FLG_BINDTO | LA_FLG_BINDFROM;
}

uintptr_t la_symbind64(Elf64_Sym* sym, unsigned index, uintptr_t* from, uintptr_t* to,
                       unsigned* flags, const char* name) {
  (void)index, (void)from, (void)to, (void)flags;
  const int forge = getenv("HODO_AUDIT_FORGED") != NULL && strcmp(name, "getppid") == 0;
  return forge ? (uintptr_t)forged : sym->st_value;
}

Elf64_Addr la_x86_64_gnu_pltenter(Elf64_Sym* sym, unsigned index, uintptr_t* from, uintptr_t* to,
                                  La_x86_64_regs* regs, unsigned* flags, const char* name,
                                  long* framesize) {
  (void)index, (void)from, (void)to, (void)regs, (void)flags, (void)name;
  *framesize = 256;
  return sym->st_value;
}

unsigned la_x86_64_gnu_pltexit(Elf64_Sym* sym, unsigned index, uintptr_t* from, uintptr_t* to,
                               const La_x86_64_regs* in, La_x86_64_retval* out, const char* name) {
  (void)sym, (void)index, (void)from, (void)to, (void)in, (void)out, (void)name;
  return 0;
}
