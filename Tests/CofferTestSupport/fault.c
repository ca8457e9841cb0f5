// Preloaded into a helper process: makes the n-th call of a function fail, kills the process before it, or stops the
// process before that call and each later one until it is continued.
// With COFFER_FAULT_ROOT set, only calls on files below that directory count.
// With COFFER_FAULT_LOG set, created directories, syncs and the lines of standard output are logged to that file.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

static char fault_kind[16];
static char fault_call[64];
static long fault_countdown = -1;

// Arms a fault: "kill:pwrite:3", "stop:sync:1", "fail:sync:1" (EIO) or "full:write:2" (ENOSPC).
void coffer_fault_arm(const char *text) {
  long count = 0;
  fault_countdown = -1;
  if (sscanf(text, "%15[^:]:%63[^:]:%ld", fault_kind, fault_call, &count) == 3) fault_countdown = count;
}

// Arms the fault of COFFER_FAULT, if it is set, when the library is loaded.
__attribute__((constructor)) static void arm_from_environment(void) {
  if (getenv("COFFER_FAULT")) coffer_fault_arm(getenv("COFFER_FAULT"));
}

// Disarms the fault and returns whether it has been triggered.
int coffer_fault_disarm(void) {
  int has_struck = fault_kind[0] && fault_countdown <= 0;
  fault_countdown = -1;
  fault_kind[0] = 0;
  return has_struck;
}

// Returns the path of a file relative to the root; 0 if the file is not below it.
static const char *path_below_root(int file, char path[4096]) {
  const char *root = getenv("COFFER_FAULT_ROOT");
  if (!root) return "";
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t size = readlink(link, path, 4095);
  if (size < 0) return 0;
  path[size] = 0;
  return strncmp(path, root, strlen(root)) == 0 ? path + strlen(root) : 0;
}

static int strikes(const char *call, int file) {
  char path[4096];
  if (fault_countdown < 0 || strcmp(call, fault_call) != 0) return 0;
  if (file >= 0 && !path_below_root(file, path)) return 0;  // without a descriptor, the caller has checked the path
  if (strcmp(fault_kind, "stop") == 0) {
    if (__atomic_sub_fetch(&fault_countdown, fault_countdown > 0, __ATOMIC_SEQ_CST) == 0) kill(getpid(), SIGSTOP);
    return 0;
  }
  if (fault_countdown == 0) return 0;
  if (__atomic_sub_fetch(&fault_countdown, 1, __ATOMIC_SEQ_CST) != 0) return 0;
  if (strcmp(fault_kind, "kill") == 0) kill(getpid(), SIGKILL);
  errno = strcmp(fault_kind, "full") == 0 ? ENOSPC : EIO;
  return 1;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

// ---- the log

static void note(const char *what, const char *path) {
  const char *log = getenv("COFFER_FAULT_LOG");
  if (!log) return;
  char line[4352];
  int size = snprintf(line, sizeof line, "%s %s\n", what, path);
  int file = REAL(open)(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (file < 0 || size < 0 || (size_t)size >= sizeof line) abort();
  if (REAL(write)(file, line, (size_t)size) != size) abort();
  close(file);
}

static void note_file(const char *what, int file) {
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t size = readlink(link, path, 4095);
  path[size < 0 ? 0 : size] = 0;
  note(what, path);
}

static void note_line(const char *text, size_t count) {
  char line[256];
  const char *end = memchr(text, '\n', count);
  snprintf(line, sizeof line, "%.*s", (int)(end ? end - text : (long)count), text);
  note("say", line);
}

int mkdir(const char *path, mode_t mode) {
  int result = REAL(mkdir)(path, mode);
  if (result == 0) note("mkdir", path);
  return result;
}

// As above, for a directory that is created by its name in an open one.
int mkdirat(int directory, const char *name, mode_t mode) {
  int result = REAL(mkdirat)(directory, name, mode);
  if (result != 0 || directory == AT_FDCWD || name[0] == '/') {
    if (result == 0) note("mkdir", name);
    return result;
  }
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", directory);
  ssize_t size = readlink(link, path, 2048);
  snprintf(path + (size < 0 ? 0 : size), 2048, "/%s", name);
  note("mkdir", path);
  return 0;
}

// With COFFER_ONE_NAME set, every file has one name: the files of a sweep are hard links to those of its template, so
// that they keep their inodes.
int stat(const char *path, struct stat *status) {
  int result = REAL(stat)(path, status);
  if (result == 0 && getenv("COFFER_ONE_NAME") && S_ISREG(status->st_mode)) status->st_nlink = 1;
  return result;
}

// ---- faults

ssize_t pwrite(int file, const void *bytes, size_t count, off_t offset) {
  return strikes("pwrite", file) ? -1 : REAL(pwrite)(file, bytes, count, offset);
}

ssize_t pwrite64(int file, const void *bytes, size_t count, off64_t offset) {
  return strikes("pwrite", file) ? -1 : REAL(pwrite64)(file, bytes, count, offset);
}

// "sync" is any sync, "sync@/.coffer/staged" that of the file with this path below the root, "sync@" that of the root.
static int sync_strikes(int file) {
  char path[4096], call[4160];
  const char *below = fault_countdown < 0 ? 0 : path_below_root(file, path);
  if (!below) return 0;
  snprintf(call, sizeof call, "sync@%s", below);
  return strikes(call, file) || strikes("sync", file);
}

int fsync(int file) {
  if (sync_strikes(file)) return -1;
  note_file("sync", file);
  return REAL(fsync)(file);
}

int fdatasync(int file) {
  if (sync_strikes(file)) return -1;
  note_file("sync", file);
  return REAL(fdatasync)(file);
}

// ---- calls that only file stores make; they need a root, since the fault could otherwise affect standard output

static int file_strikes(const char *call, int file) { return getenv("COFFER_FAULT_ROOT") && strikes(call, file); }

ssize_t write(int file, const void *bytes, size_t count) {
  if (file == STDOUT_FILENO) note_line(bytes, count);
  return file_strikes("write", file) ? -1 : REAL(write)(file, bytes, count);
}

int renameat(int from, const char *name, int to, const char *target) {
  return file_strikes("renameat", from) ? -1 : REAL(renameat)(from, name, to, target);
}

int linkat(int from, const char *name, int to, const char *target, int flags) {
  return file_strikes("linkat", from) ? -1 : REAL(linkat)(from, name, to, target, flags);
}

int unlinkat(int directory, const char *name, int flags) {
  return file_strikes("unlinkat", directory) ? -1 : REAL(unlinkat)(directory, name, flags);
}

int openat(int directory, const char *name, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  mode_t mode = (flags & O_CREAT) ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return file_strikes("openat", directory) ? -1 : REAL(openat)(directory, name, flags, mode);
}

ssize_t read(int file, void *bytes, size_t count) {
  return file_strikes("read", file) ? -1 : REAL(read)(file, bytes, count);
}

int fstatat(int directory, const char *name, struct stat *status, int flags) {
  return file_strikes("fstatat", directory) ? -1 : REAL(fstatat)(directory, name, status, flags);
}

int lstat(const char *path, struct stat *status) {
  const char *root = getenv("COFFER_FAULT_ROOT");
  if (root && strncmp(path, root, strlen(root)) == 0 && strikes("lstat", -1)) return -1;
  return REAL(lstat)(path, status);
}

int fstatat64(int directory, const char *name, struct stat64 *status, int flags) {
  return file_strikes("fstatat", directory) ? -1 : REAL(fstatat64)(directory, name, status, flags);
}

// ---- with COFFER_REST_AT set to a path, checkpoints pause where a commit could race with them: "before" they begin,
// "inside", between reading the number of frames in the log and the number of copied ones, and "after" their end. The
// n-th pause prints a line and ends when the file PATH.n exists, or after a minute.

static void rest(const char *where) {
  static int count;
  char line[64], path[4096];
  int number = __atomic_add_fetch(&count, 1, __ATOMIC_SEQ_CST);
  snprintf(path, sizeof path, "%s.%d", getenv("COFFER_REST_AT"), number);
  int length = snprintf(line, sizeof line, "rest %d %s\n", number, where);
  if (REAL(write)(1, line, (size_t)length) != length) return;
  for (int i = 0; i < 60000 && access(path, F_OK) != 0; i++) usleep(1000);
}

// SQLite calls it after it has reread the header of the log.
static int rest_inside(sqlite3_file *file, sqlite3_int64 offset, void *page) {
  (void)file, (void)offset, (void)page;
  rest("inside");
  return SQLITE_OK;
}

static int no_fetch(sqlite3_file *file, sqlite3_int64 offset, int count, void **page) {
  (void)file, (void)offset, (void)count;
  *page = 0;
  return SQLITE_OK;
}

int sqlite3_wal_checkpoint_v2(sqlite3 *db, const char *schema, int mode, int *frames, int *copied) {
  int (*checkpoint)(sqlite3 *, const char *, int, int *, int *) = dlsym(RTLD_NEXT, "sqlite3_wal_checkpoint_v2");
  int (*control)(sqlite3 *, const char *, int, void *) = dlsym(RTLD_NEXT, "sqlite3_file_control");
  sqlite3_file *file = 0;
  if (!getenv("COFFER_REST_AT") || control(db, schema, SQLITE_FCNTL_FILE_POINTER, &file) != SQLITE_OK || !file ||
      !file->pMethods)
    return checkpoint(db, schema, mode, frames, copied);
  rest("before");
  const sqlite3_io_methods *usual = file->pMethods;
  sqlite3_io_methods resting = *usual;
  resting.iVersion = 3;
  resting.xFetch = no_fetch;
  resting.xUnfetch = rest_inside;
  file->pMethods = &resting;
  int code = checkpoint(db, schema, mode, frames, copied);
  file->pMethods = usual;
  rest("after");
  return code;
}
