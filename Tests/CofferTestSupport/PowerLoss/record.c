// Preloaded into a helper process: records its changes of files and its syncs, in their order, for PowerLoss.
// They are appended to the file of COFFER_RECORD, or of coffer_record_to(). Before a file loses its last name, it gets
// one in the directory COFFER_RECORD_POOL, named like its inode, so that the replay can use that inode again.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

// The kinds of PowerLoss' DeviceOperation.
enum { CREATE = 1, WRITE, TRUNCATE, LINK, UNLINK, RENAME, EXCHANGE, SYNC, SAY };

// A mapped file that is written without calls: compared with its last recorded content before each call.
struct mapping {
  void *address;
  size_t size;
  ino_t file;
  char known[4096];
};
static struct mapping mappings[64];

// Calls are recorded and made one at a time, so that the order of the records is that of the effects.
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static int record_file = -1;
// The modification time of the file that the next record is about.
static struct timespec date;

static void append(const void *bytes, size_t size) {
  if (size > 0 && REAL(write)(record_file, bytes, size) != (ssize_t)size) abort();
}

static void record_one(uint64_t kind, ino_t file, ino_t dir, const char *name, ino_t new_dir, const char *new_name,
                       off_t offset, const void *data, size_t size) {
  size_t length = name ? strlen(name) : 0, new_length = new_name ? strlen(new_name) : 0;
  uint64_t seconds = (uint64_t)date.tv_sec, nanoseconds = (uint64_t)date.tv_nsec;
  uint64_t head[] = {kind, file, dir, new_dir, (uint64_t)offset, seconds, nanoseconds, length, new_length, size};
  append(head, sizeof head);
  append(name, length);
  append(new_name, new_length);
  append(data, size);
}

static void record_mapping(struct mapping *map) {
  if (!map->address || memcmp(map->address, map->known, map->size) == 0) return;
  memcpy(map->known, map->address, map->size);
  record_one(WRITE, map->file, 0, 0, 0, 0, 0, map->known, map->size);
}

static void record(uint64_t kind, ino_t file, ino_t dir, const char *name, ino_t new_dir, const char *new_name,
                   off_t offset, const void *data, size_t size) {
  if (record_file < 0) return;
  for (int i = 0; i < 64; i++) record_mapping(&mappings[i]);
  record_one(kind, file, dir, name, new_dir, new_name, offset, data, size);
}

// Records to another file from now on; 0 for none.
void coffer_record_to(const char *path) {
  pthread_mutex_lock(&turn);
  if (record_file >= 0) close(record_file);
  record_file = path ? REAL(open)(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
  for (int i = 0; i < 64; i++) record_file < 0 ? (void)0 : record_mapping(&mappings[i]);
  pthread_mutex_unlock(&turn);
}

__attribute__((constructor)) static void begin(void) {
  if (getenv("COFFER_RECORD")) coffer_record_to(getenv("COFFER_RECORD"));
}

// Several processes may append to a record, one after the other.
__attribute__((destructor)) static void end(void) {
  pthread_mutex_lock(&turn);
  for (int i = 0; i < 64; i++) record_file < 0 ? (void)0 : record_mapping(&mappings[i]);
  pthread_mutex_unlock(&turn);
}

// ---- names

struct place {
  ino_t dir, file;
  const char *name;
  int is_file, is_directory;
};

static struct place place_of(int at, const char *path) {
  struct place place = {0};
  struct stat status;
  char folder[4096];
  const char *slash = strrchr(path, '/');
  snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path) + 1 : 1, slash ? path : ".");
  if (fstatat(at, folder, &status, 0) == 0) place.dir = status.st_ino;
  place.name = slash ? slash + 1 : path;
  if (fstatat(at, path, &status, AT_SYMLINK_NOFOLLOW) != 0) return place;
  place.file = status.st_ino;
  place.is_file = S_ISREG(status.st_mode);
  place.is_directory = S_ISDIR(status.st_mode);
  return place;
}

static void keep(int at, const char *path, struct place place) {
  char kept[4096];
  if (!place.is_file || !getenv("COFFER_RECORD_POOL")) return;
  snprintf(kept, sizeof kept, "%s/%lu", getenv("COFFER_RECORD_POOL"), (unsigned long)place.file);
  REAL(linkat)(at, path, AT_FDCWD, kept, 0);
}

static ino_t inode(int file, off_t *size) {
  struct stat status;
  if (fstat(file, &status) != 0) return 0;
  date = status.st_mtim;
  if (size) *size = status.st_size;
  return status.st_ino;
}

#define ORDERED(type, ...)            \
  pthread_mutex_lock(&turn);          \
  type result;                        \
  __VA_ARGS__;                        \
  int number = errno;                 \
  pthread_mutex_unlock(&turn);        \
  errno = number;                     \
  return result

static int open_recorded(int at, const char *path, int flags, mode_t mode) {
  ORDERED(int, {
    struct place before = place_of(at, path);
    off_t size = 0;
    result = REAL(openat)(at, path, flags, mode);
    ino_t file = result < 0 ? 0 : inode(result, &size);
    if (file && (flags & O_CREAT) && !before.file) record(CREATE, file, before.dir, before.name, 0, 0, 0, 0, 0);
    if (file && (flags & O_TRUNC) && before.file) record(TRUNCATE, file, 0, 0, 0, 0, 0, 0, 0);
  });
}

#define OPEN(name, parameters, at)                                   \
  int name parameters {                                              \
    va_list rest;                                                    \
    va_start(rest, flags);                                           \
    mode_t mode = (flags & O_CREAT) ? va_arg(rest, mode_t) : 0;      \
    va_end(rest);                                                    \
    if (!(flags & (O_CREAT | O_TRUNC))) return REAL(openat)(at, path, flags, mode); \
    return open_recorded(at, path, flags, mode);                     \
  }

OPEN(open, (const char *path, int flags, ...), AT_FDCWD)
OPEN(open64, (const char *path, int flags, ...), AT_FDCWD)
OPEN(openat, (int directory, const char *path, int flags, ...), directory)
OPEN(openat64, (int directory, const char *path, int flags, ...), directory)

int mkdirat(int at, const char *path, mode_t mode) {
  ORDERED(int, {
    result = REAL(mkdirat)(at, path, mode);
    struct place made = place_of(at, path);
    if (result == 0) record(CREATE, made.file, made.dir, made.name, 0, 0, 1, 0, 0);
  });
}

int mkdir(const char *path, mode_t mode) { return mkdirat(AT_FDCWD, path, mode); }

int unlinkat(int at, const char *path, int flags) {
  ORDERED(int, {
    struct place gone = place_of(at, path);
    keep(at, path, gone);
    result = REAL(unlinkat)(at, path, flags);
    if (result == 0) record(UNLINK, gone.file, gone.dir, gone.name, 0, 0, 0, 0, 0);
  });
}

int unlink(const char *path) { return unlinkat(AT_FDCWD, path, 0); }

int rmdir(const char *path) { return unlinkat(AT_FDCWD, path, AT_REMOVEDIR); }

static int rename_recorded(int from, const char *path, int to, const char *target, unsigned flags) {
  ORDERED(int, {
    struct place source = place_of(from, path), end = place_of(to, target);
    if (flags == 0) keep(to, target, end);
    result = (int)REAL(syscall)(SYS_renameat2, from, path, to, target, flags);
    uint64_t kind = flags & RENAME_EXCHANGE ? EXCHANGE : RENAME;
    if (result == 0) record(kind, source.file, source.dir, source.name, end.dir, end.name, (off_t)end.file, 0, 0);
  });
}

int renameat(int from, const char *path, int to, const char *target) {
  return rename_recorded(from, path, to, target, 0);
}

int rename(const char *path, const char *target) { return rename_recorded(AT_FDCWD, path, AT_FDCWD, target, 0); }

// The library calls renameat2 by its number, since the C library of Apple's systems lacks it.
long syscall(long number, ...) {
  va_list rest;
  va_start(rest, number);
  long a = va_arg(rest, long), b = va_arg(rest, long), c = va_arg(rest, long);
  long d = va_arg(rest, long), e = va_arg(rest, long), f = va_arg(rest, long);
  va_end(rest);
  if (number != SYS_renameat2) return REAL(syscall)(number, a, b, c, d, e, f);
  return rename_recorded((int)a, (const char *)b, (int)c, (const char *)d, (unsigned)e);
}

int linkat(int from, const char *path, int to, const char *target, int flags) {
  ORDERED(int, {
    result = REAL(linkat)(from, path, to, target, flags);
    struct place made = place_of(to, target);
    if (result == 0) record(LINK, made.file, made.dir, made.name, 0, 0, 0, 0, 0);
  });
}

int link(const char *path, const char *target) { return linkat(AT_FDCWD, path, AT_FDCWD, target, 0); }

// The pool has a hard link to each file, so that it keeps its inode; the recorded process sees one name.
int stat(const char *path, struct stat *status) {
  int result = REAL(stat)(path, status);
  if (result == 0 && S_ISREG(status->st_mode)) status->st_nlink = 1;
  return result;
}

// ---- content

static void record_write(int file, off_t offset, const void *bytes, ssize_t size) {
  struct stat status;
  if (size <= 0 || record_file < 0 || fstat(file, &status) != 0) return;
  date = status.st_mtim;
  if (file == STDOUT_FILENO) return record(SAY, 0, 0, 0, 0, 0, 0, bytes, (size_t)size);
  if (S_ISREG(status.st_mode)) record(WRITE, status.st_ino, 0, 0, 0, 0, offset, bytes, (size_t)size);
}

ssize_t write(int file, const void *bytes, size_t count) {
  ORDERED(ssize_t, {
    off_t offset = lseek(file, 0, SEEK_CUR);
    result = REAL(write)(file, bytes, count);
    record_write(file, offset, bytes, result);
  });
}

ssize_t pwrite(int file, const void *bytes, size_t count, off_t offset) {
  ORDERED(ssize_t, {
    result = REAL(pwrite)(file, bytes, count, offset);
    record_write(file, offset, bytes, result);
  });
}

ssize_t pwrite64(int file, const void *bytes, size_t count, off64_t offset) {
  return pwrite(file, bytes, count, offset);
}

int ftruncate(int file, off_t size) {
  ORDERED(int, {
    result = REAL(ftruncate)(file, size);
    if (result == 0) record(TRUNCATE, inode(file, 0), 0, 0, 0, 0, size, 0, 0);
  });
}

int ftruncate64(int file, off64_t size) { return ftruncate(file, size); }

int posix_fallocate(int file, off_t offset, off_t count) {
  ORDERED(int, {
    off_t before = 0, after = 0;
    inode(file, &before);
    result = REAL(posix_fallocate)(file, offset, count);
    ino_t node = inode(file, &after);
    if (after != before) record(TRUNCATE, node, 0, 0, 0, 0, after, 0, 0);
  });
}

int posix_fallocate64(int file, off64_t offset, off64_t count) { return posix_fallocate(file, offset, count); }

int fsync(int file) {
  ORDERED(int, {
    record(SYNC, inode(file, 0), 0, 0, 0, 0, 0, 0, 0);
    result = 0;
  });
}

// The offset says that only the content and the size are synced.
int fdatasync(int file) {
  ORDERED(int, {
    record(SYNC, inode(file, 0), 0, 0, 0, 0, 1, 0, 0);
    result = 0;
  });
}

int msync(void *address, size_t size, int flags) {
  ORDERED(int, {
    result = REAL(msync)(address, size, flags);
    for (int i = 0; i < 64; i++)
      if (mappings[i].address == address) record(SYNC, mappings[i].file, 0, 0, 0, 0, 1, 0, 0);
  });
}

static void forget_mapping(void *address) {
  for (int i = 0; i < 64; i++) {
    if (mappings[i].address != address) continue;
    if (record_file >= 0) record_mapping(&mappings[i]);
    mappings[i].address = 0;
  }
}

void *mmap(void *address, size_t size, int protection, int flags, int file, off_t offset) {
  ORDERED(void *, {
    struct stat status;
    forget_mapping(address);
    result = REAL(mmap)(address, size, protection, flags, file, offset);
    // Larger ones are SQLite's index of its log, which no power loss leaves.
    int is_file = file >= 0 && (flags & MAP_SHARED) && (protection & PROT_WRITE) && size <= 4096;
    if (is_file && result != MAP_FAILED && fstat(file, &status) == 0 && S_ISREG(status.st_mode))
      for (int i = 0; i < 64; i++)
        if (!mappings[i].address) {
          mappings[i] = (struct mapping){result, size, status.st_ino, {0}};
          memcpy(mappings[i].known, result, size);
          break;
        }
  });
}

void *mmap64(void *address, size_t size, int protection, int flags, int file, off64_t offset) {
  return mmap(address, size, protection, flags, file, offset);
}

int munmap(void *address, size_t size) {
  ORDERED(int, {
    forget_mapping(address);
    result = REAL(munmap)(address, size);
  });
}
