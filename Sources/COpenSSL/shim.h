#ifndef PULLBOX_COPENSSL_SHIM_H
#define PULLBOX_COPENSSL_SHIM_H

// SHA256_Init and its companions keep the whole state in a plain structure, which can be copied: the two states of a
// MAC key are computed once. OpenSSL 3 marks them deprecated in favor of contexts on the heap.
#define OPENSSL_SUPPRESS_DEPRECATED

#include <openssl/asn1.h>
#include <openssl/bio.h>
#include <openssl/cms.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/objects.h>
#include <openssl/ocsp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>
#include <openssl/sha.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

#endif
