#pragma once
#include <valgrind/callgrind.h>

/// Whether valgrind runs this process.
static inline int runs_on_valgrind(void) { return RUNNING_ON_VALGRIND; }

/// Writes what was counted since the last call into the next file, under a name.
static inline void write_counts(const char *name) { CALLGRIND_DUMP_STATS_AT(name); }
