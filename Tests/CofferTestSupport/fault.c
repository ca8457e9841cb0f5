// Preloaded into a helper process: makes the n-th call of a name fail, or kills the process in front of it.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static char fault_kind[16];
static char fault_call[16];
static long fault_countdown = -1;

// "kill:pwrite:3" or "fail:sync:1"
void coffer_fault_arm(const char *text) {
  long count = 0;
  if (sscanf(text, "%15[^:]:%15[^:]:%ld", fault_kind, fault_call, &count) == 3) fault_countdown = count;
}

static int strikes(const char *call) {
  if (fault_countdown < 0 || strcmp(call, fault_call) != 0) return 0;
  if (__atomic_sub_fetch(&fault_countdown, 1, __ATOMIC_SEQ_CST) != 0) return 0;
  if (strcmp(fault_kind, "kill") == 0) kill(getpid(), SIGKILL);
  errno = EIO;
  return 1;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t pwrite(int file, const void *bytes, size_t count, off_t offset) {
  return strikes("pwrite") ? -1 : REAL(pwrite)(file, bytes, count, offset);
}

ssize_t pwrite64(int file, const void *bytes, size_t count, off64_t offset) {
  return strikes("pwrite") ? -1 : REAL(pwrite64)(file, bytes, count, offset);
}

int fsync(int file) { return strikes("sync") ? -1 : REAL(fsync)(file); }

int fdatasync(int file) { return strikes("sync") ? -1 : REAL(fdatasync)(file); }
