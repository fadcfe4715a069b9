#ifndef PULLBOX_CTLS_SHIM_H
#define PULLBOX_CTLS_SHIM_H

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdint.h>
#include <time.h>

// What OpenSSL offers as macros with arguments, or as 64-bit constants that arrive without a usable type.

static inline int ctls_set_minimum_version(SSL_CTX *context, int version) {
  return (int)SSL_CTX_set_min_proto_version(context, version);
}

static inline int ctls_set_maximum_version(SSL_CTX *context, int version) {
  return (int)SSL_CTX_set_max_proto_version(context, version);
}

static inline int ctls_set_groups(SSL_CTX *context, const char *names) {
  return (int)SSL_CTX_set1_groups_list(context, names);
}

// Sessions live in tickets, at the client: nothing that loops would share. An end without close_notify is an end: what it
// would cut off shows in the framing of HTTP.
static inline void ctls_prepare_server(SSL_CTX *context) {
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE |
                                   SSL_OP_PRIORITIZE_CHACHA | SSL_OP_IGNORE_UNEXPECTED_EOF);
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                                SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_read_ahead(context, 1);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
}

static inline void ctls_clear_retry(BIO *bio) { BIO_clear_retry_flags(bio); }

static inline void ctls_retry_read(BIO *bio) { BIO_set_retry_read(bio); }

static inline void ctls_retry_write(BIO *bio) { BIO_set_retry_write(bio); }

static inline int ctls_error_reason(unsigned long code) { return ERR_GET_REASON(code); }

static inline int ctls_set_server_name(SSL *session, const char *name) {
  return (int)SSL_set_tlsext_host_name(session, name);
}

// The end of what ends first of the certificate and of those that are sent with it, in seconds since the epoch. 1, or 0 where
// there is none, or one has no end that can be read. The lists of certificates are macros.
static inline int ctls_first_certificate_end(SSL_CTX *context, int64_t *seconds) {
  STACK_OF(X509) *others = NULL;
  X509 *certificate = SSL_CTX_get0_certificate(context);
  if (!certificate) return 0;
  SSL_CTX_get0_chain_certs(context, &others);
  for (int index = -1; index < (others ? sk_X509_num(others) : 0); index++) {
    const ASN1_TIME *end = X509_get0_notAfter(index < 0 ? certificate : sk_X509_value(others, index));
    struct tm parts;
    if (!end || ASN1_TIME_to_tm(end, &parts) != 1) return 0;
    int64_t found = (int64_t)timegm(&parts);
    if (index < 0 || found < *seconds) *seconds = found;
  }
  return 1;
}

#endif
