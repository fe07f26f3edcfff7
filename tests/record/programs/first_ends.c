// Its first thread ends, and another one goes on: /proc/PID knows no memory any more. That one says
// "ready", and makes code by System V shared memory, which no call tells the rights of, for each
// line of input and at its end: 100,000 branches.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/shm.h>
#include <unistd.h>

static int first_is_there(void) {
  char line[256] = {0};
  FILE* file = fopen("/proc/self/stat", "r");
  fgets(line, sizeof line, file);
  fclose(file);
  return strstr(line, ") Z ") == NULL;
}

static void run_new_code(void) {
  const int segment = shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0700);
  unsigned char* code = shmat(segment, NULL, SHM_EXEC);
  shmctl(segment, IPC_RMID, NULL);
  memcpy(code, "\xb8\xa0\x86\x01\x00\xff\xc8\x75\xfc\xc3", 10);  // 100,000 times; ret
  ((void (*)(void))code)();
}

static void* goes_on(void* unused) {
  (void)unused;
  char line[64];
  while (first_is_there()) usleep(1000);
  puts("ready");
  fflush(stdout);
  while (fgets(line, sizeof line, stdin) != NULL) {
    run_new_code();
    puts("goes on");
    fflush(stdout);
  }
  run_new_code();
  puts("all as ever");
  fflush(stdout);
  _exit(3);
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, goes_on, NULL);
  pthread_exit(NULL);
}
