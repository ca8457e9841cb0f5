#pragma once
#include <stdint.h>

// Atomics on memory that several processes map: Swift's Atomic owns its storage, so it cannot live in a mapped file.

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
