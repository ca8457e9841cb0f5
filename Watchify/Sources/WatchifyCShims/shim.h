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
