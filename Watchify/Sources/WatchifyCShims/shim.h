#pragma once

// Returns freed memory to the system, which the allocator otherwise keeps per thread.
#ifdef __GLIBC__
#include <malloc.h>
static inline void watchify_trim_memory(void) { malloc_trim(0); }
#else
static inline void watchify_trim_memory(void) {}
#endif
