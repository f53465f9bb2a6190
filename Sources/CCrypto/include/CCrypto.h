#ifndef CCrypto_SHIM_H
#define CCrypto_SHIM_H
#include <openssl/sha.h>
#include <openssl/evp.h>
#include <openssl/crypto.h>
#include <openssl/rand.h>
#endif
