#pragma once

// Defines __GLIBC__, where it is the C library.
#include <stdlib.h>

// Returns freed memory to the system, which the allocator otherwise keeps per thread.
#ifdef __GLIBC__
#include <malloc.h>
static inline void watchify_trim_memory(void) { malloc_trim(0); }
// Makes all threads share one heap. Otherwise each keeps what it has freed, which doubles the memory of a large sync.
static inline void watchify_share_heap(void) { mallopt(M_ARENA_MAX, 1); }
#else
static inline void watchify_trim_memory(void) {}
static inline void watchify_share_heap(void) {}
#endif

#include <stdbool.h>

// glibc and musl have it, but their headers declare it only for programs in C that ask for GNU's extensions.
extern void *memmem(const void *, size_t, const void *, size_t);

// Returns whether bytes contain other bytes.
static inline bool watchify_contains(const void *bytes, size_t count, const void *part, size_t part_count) {
  return memmem(bytes, count, part, part_count) != NULL;
}
