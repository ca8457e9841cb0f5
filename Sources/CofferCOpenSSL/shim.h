#pragma once
// The functions of SHA-256 whose state the caller keeps are called deprecated, since OpenSSL would rather keep it itself.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/rand.h>
#include <openssl/sha.h>
