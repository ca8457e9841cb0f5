#pragma once
#include <stddef.h>
#include <stdint.h>

// libFuzzer's own entry point: it calls back with each input.
int LLVMFuzzerRunDriver(int *argc, char ***argv, int (*callback)(const uint8_t *data, size_t size));
