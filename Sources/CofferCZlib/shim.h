#pragma once
#include <stdint.h>
#include <string.h>
#include <zlib.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#if defined(__x86_64__)
#define COFFER_CLMUL __attribute__((target("pclmul,sse4.1")))

static inline COFFER_CLMUL __m128i coffer_crc_fold(__m128i state, __m128i keys, __m128i next) {
  __m128i low = _mm_clmulepi64_si128(state, keys, 0x00), high = _mm_clmulepi64_si128(state, keys, 0x11);
  return _mm_xor_si128(_mm_xor_si128(low, high), next);
}

// V. Gopal et al., "Fast CRC Computation Using PCLMULQDQ Instruction" (Intel, 2009), for 4 bytes or more. Zeros before
// the bytes, here those that complete the first block, do not change a remainder.
static inline COFFER_CLMUL uint32_t coffer_crc_clmul(uint32_t crc, const uint8_t *at, size_t count) {
  const __m128i far = _mm_set_epi64x(0x1c6e41596, 0x154442bd4), near = _mm_set_epi64x(0xccaa009e, 0x1751997d0);
  const __m128i last = _mm_set_epi64x(0, 0x163cd6124), poly = _mm_set_epi64x(0x1f7011641, 0x1db710641);
  const __m128i mask = _mm_setr_epi32(~0, 0, ~0, 0);
  const uint8_t *end = at + count;
  size_t odd = count % 16, head = count < 16 ? odd : odd + 16;
  uint8_t first[32] = {0};
  uint32_t seed;
  memcpy(first + 16 - odd, at, head);
  memcpy(&seed, first + 16 - odd, 4);
  seed ^= ~crc;
  memcpy(first + 16 - odd, &seed, 4);
  at += head;
  __m128i a = _mm_loadu_si128((const __m128i *)first);
  if (head > odd) a = coffer_crc_fold(a, near, _mm_loadu_si128((const __m128i *)first + 1));
  if (end - at >= 112) {
    __m128i b = _mm_loadu_si128((const __m128i *)at), c = _mm_loadu_si128((const __m128i *)at + 1);
    __m128i d = _mm_loadu_si128((const __m128i *)at + 2);
    for (at += 48; end - at >= 64; at += 64) {
      a = coffer_crc_fold(a, far, _mm_loadu_si128((const __m128i *)at));
      b = coffer_crc_fold(b, far, _mm_loadu_si128((const __m128i *)at + 1));
      c = coffer_crc_fold(c, far, _mm_loadu_si128((const __m128i *)at + 2));
      d = coffer_crc_fold(d, far, _mm_loadu_si128((const __m128i *)at + 3));
    }
    a = coffer_crc_fold(coffer_crc_fold(coffer_crc_fold(a, near, b), near, c), near, d);
  }
  for (; at < end; at += 16) a = coffer_crc_fold(a, near, _mm_loadu_si128((const __m128i *)at));
  // From 128 bits to 64 and to 32.
  a = _mm_xor_si128(_mm_srli_si128(a, 8), _mm_clmulepi64_si128(a, near, 0x10));
  a = _mm_xor_si128(_mm_srli_si128(a, 4), _mm_clmulepi64_si128(_mm_and_si128(a, mask), last, 0x00));
  __m128i quotient = _mm_and_si128(_mm_clmulepi64_si128(_mm_and_si128(a, mask), poly, 0x10), mask);
  a = _mm_xor_si128(a, _mm_clmulepi64_si128(quotient, poly, 0x00));
  return ~(uint32_t)_mm_extract_epi32(a, 1);
}
#endif

// Extends a CRC-32 as `crc32_z` does, in a tenth of its time for small values if the processor has the instruction.
static inline uint32_t coffer_crc32(uint32_t crc, const uint8_t *at, size_t count) {
#if defined(__x86_64__)
  if (count >= 4 && __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1")) {
    return coffer_crc_clmul(crc, at, count);
  }
#endif
  return (uint32_t)crc32_z(crc, at, count);
}
