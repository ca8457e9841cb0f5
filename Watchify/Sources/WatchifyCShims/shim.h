#pragma once

// Returns to the system what was freed: each thread keeps its own for itself otherwise.
#ifdef __GLIBC__
#include <malloc.h>
static inline void watchify_trim_memory(void) { malloc_trim(0); }
#else
static inline void watchify_trim_memory(void) {}
#endif
