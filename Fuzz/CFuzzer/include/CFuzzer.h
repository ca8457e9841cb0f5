#pragma once
#include <stddef.h>
#include <stdint.h>

// The entry point of libFuzzer, which calls `callback` with each input.
int LLVMFuzzerRunDriver(int *argc, char ***argv, int (*callback)(const uint8_t *data, size_t size));
