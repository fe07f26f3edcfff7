// served FOLDER FILE ID: mounts a file system on FOLDER that a process of its own serves (FUSE) and
// that has FILE by the name "file", for nobody but user ID, as whom it executes that, and ends who
// serves it at once, as AppImages do. Each request is answered by a thread of its own, nothing of
// an answer may be kept. Exit status: that of the program; 77 and a reason where none can be
// mounted.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kFile = FUSE_ROOT_ID + 1, kRoom = 1 << 18 };

static int device;
static const char* bytes;
static size_t size;

static int cannot(const char* what) {
  printf("%s: %s\n", what, strerror(errno));
  return 77;
}

static void answer(const struct fuse_in_header* asked, int error, const void* with, size_t length) {
  struct fuse_out_header head = {
      .len = sizeof head + (error == 0 ? length : 0), .error = -error, .unique = asked->unique};
  const struct iovec parts[] = {{&head, sizeof head}, {(void*)with, head.len - sizeof head}};
  (void)!writev(device, parts, 2);
}

static struct fuse_attr attributes(uint64_t node) {
  const int is_file = node == kFile;
  return (struct fuse_attr){.ino = node,
                            .size = is_file ? size : 0,
                            .mode = is_file ? S_IFREG | 0755 : S_IFDIR | 0755,
                            .nlink = 1,
                            .blksize = 4096};
}

static void serve_file(const struct fuse_in_header* asked, const struct fuse_read_in* part) {
  const size_t from = part->offset < size ? part->offset : size;
  answer(asked, 0, bytes + from, part->size < size - from ? part->size : size - from);
}

static void* serve(void* request) {
  const struct fuse_in_header* const asked = request;
  const void* const what = asked + 1;
  switch (asked->opcode) {
    case FUSE_INIT: {
      const struct fuse_init_out out = {.major = 7, .minor = 31, .max_write = 4096};
      answer(asked, 0, &out, sizeof out);
      break;
    }
    case FUSE_LOOKUP: {
      const struct fuse_entry_out out = {.nodeid = kFile, .attr = attributes(kFile)};
      answer(asked, strcmp(what, "file") == 0 ? 0 : ENOENT, &out, sizeof out);
      break;
    }
    case FUSE_GETATTR: {
      const struct fuse_attr_out out = {.attr = attributes(asked->nodeid)};
      answer(asked, 0, &out, sizeof out);
      break;
    }
    case FUSE_OPEN:
    case FUSE_OPENDIR: {
      const struct fuse_open_out out = {0};
      answer(asked, 0, &out, sizeof out);
      break;
    }
    case FUSE_READ:
      serve_file(asked, what);
      break;
    case FUSE_STATFS: {
      const struct fuse_statfs_out out = {.st = {.bsize = 4096, .namelen = 255}};
      answer(asked, 0, &out, sizeof out);
      break;
    }
    case FUSE_RELEASE:
    case FUSE_RELEASEDIR:
      answer(asked, 0, NULL, 0);
      break;
    case FUSE_FORGET:
    case FUSE_BATCH_FORGET:
    case FUSE_INTERRUPT:
      break;
    default:
      answer(asked, ENOSYS, NULL, 0);
  }
  free(request);
  return NULL;
}

static int serve_all(void) {
  while (1) {
    char* const request = malloc(kRoom);
    if (request == NULL || read(device, request, kRoom) < 0) return 1;
    pthread_t thread;
    if (pthread_create(&thread, NULL, serve, request) != 0) return 1;
    pthread_detach(thread);
  }
}

static int run(const char* folder, unsigned id) {
  char path[4096];
  snprintf(path, sizeof path, "%s/file", folder);
  const pid_t child = fork();
  if (child == 0) {
    if (setresgid(id, id, id) == 0 && setresuid(id, id, id) == 0) execl(path, path, NULL);
    _exit(126);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const unsigned id = (unsigned)atoi(argv[3]);
  const int file = open(argv[2], O_RDONLY | O_CLOEXEC);
  struct stat st;
  if (file < 0 || fstat(file, &st) != 0) return 2;
  size = (size_t)st.st_size;
  bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, file, 0);
  device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
  if (device < 0) return cannot("/dev/fuse");
  char options[64];
  snprintf(options, sizeof options, "fd=%d,rootmode=40000,user_id=%u,group_id=%u", device, id, id);
  if (mount("served", argv[1], "fuse", 0, options) != 0) return cannot("mount");
  const pid_t server = fork();
  if (server == 0) _exit(serve_all());
  close(device);
  const int status = run(argv[1], id);
  kill(server, SIGKILL);
  waitpid(server, NULL, 0);
  umount2(argv[1], MNT_DETACH);
  return status;
}
