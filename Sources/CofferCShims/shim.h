#pragma once
#include <stdint.h>

// Atomics on memory mapped by several processes: Swift's Atomic owns its storage, so it cannot be in a mapped file.

static inline uint64_t coffer_atomic_load(const void *address) {
  return __atomic_load_n((const uint64_t *)address, __ATOMIC_ACQUIRE);
}

static inline void coffer_atomic_store(void *address, uint64_t value) {
  __atomic_store_n((uint64_t *)address, value, __ATOMIC_RELEASE);
}

// Raises the number at `address` to `value`; never lowers it.
static inline void coffer_atomic_raise(void *address, uint64_t value) {
  uint64_t seen = __atomic_load_n((uint64_t *)address, __ATOMIC_RELAXED);
  while (seen < value &&
         !__atomic_compare_exchange_n((uint64_t *)address, &seen, value, 1, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
  }
}

// Stores `value` if the number equals `expected`; returns whether it did.
static inline int coffer_atomic_compare_exchange(void *address, uint64_t expected, uint64_t value) {
  return __atomic_compare_exchange_n((uint64_t *)address, &expected, value, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

// Stores the type of the file system of a path and its free bytes. Returns 0, or the `errno` of the failed call.
#if defined(__linux__)
#include <errno.h>
#include <sys/statfs.h>

static inline int coffer_file_system(const char *path, uint64_t *kind, uint64_t *free_bytes) {
  struct statfs status;
  if (statfs(path, &status) != 0) return errno;
  *kind = (uint64_t)status.f_type & 0xFFFFFFFF;
  *free_bytes = (uint64_t)status.f_bavail * (uint64_t)status.f_bsize;
  return 0;
}
#endif

// Renames a file of an open directory, or of AT_FDCWD, without replacing an existing one, or exchanges two files
// atomically. Where the system does not support it, `errno` is EINVAL or ENOSYS.
static const unsigned coffer_rename_no_replace = 1;
static const unsigned coffer_rename_exchange = 2;

#if defined(__linux__)
// Not <fcntl.h>: Swift would import its types, such as `stat`, as types of this module.
#include <sys/syscall.h>
#include <unistd.h>

static inline int coffer_rename(int directory, const char *from, const char *to, unsigned flags) {
  return (int)syscall(SYS_renameat2, directory, from, directory, to, flags);
}
#else
#include <errno.h>

static inline int coffer_rename(int directory, const char *from, const char *to, unsigned flags) {
  errno = ENOSYS;
  return -1;
}
#endif

#if defined(__linux__)
// Begins to write the bytes of a file to the device, without waiting for them. The C library
// declares the function for programs with _GNU_SOURCE only.
extern int sync_file_range(int file, int64_t offset, int64_t count, unsigned flags);

static inline void coffer_begin_sync(int file) {
  const unsigned only_write = 2; // SYNC_FILE_RANGE_WRITE
  sync_file_range(file, 0, 0, only_write);
}
#endif
