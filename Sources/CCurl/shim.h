// curl_easy_setopt, curl_easy_getinfo and curl_multi_setopt are variadic, which Swift cannot call: one function
// per argument type takes their place. They can go when Swift imports C variadics.
#ifndef PULLBOX_CCURL_SHIM_H
#define PULLBOX_CCURL_SHIM_H

#include <curl/curl.h>

_Static_assert(sizeof(curl_off_t) == 8, "offsets past 2^31 need a 64-bit curl_off_t");

static inline CURLcode ccurl_easy_setopt_long(CURL *easy, CURLoption option, long value) {
  return curl_easy_setopt(easy, option, value);
}

static inline CURLcode ccurl_easy_setopt_offset(CURL *easy, CURLoption option, curl_off_t value) {
  return curl_easy_setopt(easy, option, value);
}

static inline CURLcode ccurl_easy_setopt_string(CURL *easy, CURLoption option, const char *value) {
  return curl_easy_setopt(easy, option, value);
}

static inline CURLcode ccurl_easy_setopt_pointer(CURL *easy, CURLoption option, void *value) {
  return curl_easy_setopt(easy, option, value);
}

typedef size_t (*ccurl_data_callback)(char *, size_t, size_t, void *);

static inline CURLcode ccurl_easy_setopt_data_callback(CURL *easy, CURLoption option, ccurl_data_callback value) {
  return curl_easy_setopt(easy, option, value);
}

static inline CURLcode ccurl_easy_setopt_seek_callback(CURL *easy, curl_seek_callback value) {
  return curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, value);
}

static inline CURLcode ccurl_easy_getinfo_long(CURL *easy, CURLINFO info, long *value) {
  return curl_easy_getinfo(easy, info, value);
}

static inline CURLcode ccurl_easy_getinfo_offset(CURL *easy, CURLINFO info, curl_off_t *value) {
  return curl_easy_getinfo(easy, info, value);
}

static inline CURLcode ccurl_easy_getinfo_pointer(CURL *easy, CURLINFO info, void **value) {
  return curl_easy_getinfo(easy, info, (char **)value);
}

static inline CURLcode ccurl_easy_getinfo_text(CURL *easy, CURLINFO info, const char **value) {
  return curl_easy_getinfo(easy, info, (char **)value);
}

static inline CURLcode ccurl_easy_getinfo_certificates(CURL *easy, struct curl_certinfo **value) {
  return curl_easy_getinfo(easy, CURLINFO_CERTINFO, value);
}

static inline CURLMcode ccurl_multi_setopt_long(CURLM *multi, CURLMoption option, long value) {
  return curl_multi_setopt(multi, option, value);
}

static inline CURLMcode ccurl_multi_setopt_socket_callback(CURLM *multi, curl_socket_callback value, void *target) {
  CURLMcode result = curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, target);
  return result == CURLM_OK ? curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, value) : result;
}

// CURL_SOCKET_TIMEOUT is a cast, which Swift does not import.
static inline CURLMcode ccurl_multi_timeout_action(CURLM *multi, int *running) {
  return curl_multi_socket_action(multi, CURL_SOCKET_TIMEOUT, 0, running);
}

// CURLMsg holds its result in a union, of which Swift would import an unsafe view.
static inline CURLcode ccurl_message_result(const CURLMsg *message) { return message->data.result; }

#endif
