// Executed again and again by a thread that is not its first, while others sleep; at last a child
// that asks the vDSO for the time, as its parent has.
#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int left = 5;

static void* sleeps(void* unused) {
  for (;;) pause();
  return unused;
}

static int sleeping_tasks(void) {
  int count = 0;
  DIR* const tasks = opendir("/proc/self/task");
  for (const struct dirent* task; (task = readdir(tasks)) != NULL;) {
    if (task->d_name[0] == '.') continue;
    char path[64], state = 0;
    snprintf(path, sizeof path, "/proc/self/task/%.20s/stat", task->d_name);
    FILE* const stat = fopen(path, "r");
    if (stat != NULL && fscanf(stat, "%*d (%*[^)]) %c", &state) == 1) count += state == 'S';
    if (stat != NULL) fclose(stat);
  }
  closedir(tasks);
  return count;
}

// A thread that is killed while it runs takes what it did last with it.
static void wait_for_sleep(int tasks) {
  for (int seen = 0; seen < 5; usleep(1000)) seen = sleeping_tasks() == tasks ? seen + 1 : 0;
}

static void* executes(void* unused) {
  char next[16];
  snprintf(next, sizeof next, "%d", left - 1);
  wait_for_sleep(4);
  execl("/proc/self/exe", "exec_by_thread", next, (char*)NULL);
  perror("exec");
  exit(1);
  return unused;
}

int main(int argc, char** argv) {
  if (argc > 1) left = atoi(argv[1]);
  printf("left %d\n", left);
  fflush(stdout);
  if (left > 0) {
    pthread_t thread;
    for (int i = 0; i < 3; ++i) pthread_create(&thread, NULL, sleeps, NULL);
    pthread_create(&thread, NULL, executes, NULL);
    for (;;) pause();
  }
  const time_t before = time(NULL);
  const pid_t child = fork();
  if (child == 0) _exit(time(NULL) < before);
  int status = 0;
  waitpid(child, &status, 0);
  return status != 0;
}
