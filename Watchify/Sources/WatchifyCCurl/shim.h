#pragma once
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>

// Declarations of libcurl's stable ABI (soname 4, https://curl.se/libcurl/abi.html). The library is loaded on first
// use, so its headers are not required to build; Foundation's networking depends on the same file, so it is installed.
// Foundation's own networking is not used, because it buffers an unpacked body without a limit.

typedef struct {
  int (*global_init)(long flags);
  void *(*easy_init)(void);
  void (*easy_cleanup)(void *easy);
  int (*easy_setopt)(void *easy, int option, ...);
  int (*easy_getinfo)(void *easy, int info, ...);
  void *(*slist_append)(void *list, const char *text);
  void (*slist_free_all)(void *list);
  void *(*multi_init)(void);
  int (*multi_cleanup)(void *multi);
  int (*multi_add_handle)(void *multi, void *easy);
  int (*multi_remove_handle)(void *multi, void *easy);
  int (*multi_perform)(void *multi, int *running);
  int (*multi_poll)(void *multi, void *extra, unsigned count, int milliseconds, int *ready);
  int (*multi_wakeup)(void *multi);
  void *(*multi_info_read)(void *multi, int *left);
} watchify_curl;

// struct curl_sockaddr
typedef struct {
  int family;
  int type;
  int protocol;
  unsigned length;
  struct sockaddr address;
} watchify_curl_address;

// struct CURLMsg
typedef struct {
  int message;
  void *easy;
  union {
    void *other;
    int result;
  } data;
} watchify_curl_message;

enum {
  WATCHIFY_CURLOPT_WRITEDATA = 10001,
  WATCHIFY_CURLOPT_URL = 10002,
  WATCHIFY_CURLOPT_PROXY = 10004,
  WATCHIFY_CURLOPT_READDATA = 10009,
  WATCHIFY_CURLOPT_USERAGENT = 10018,
  WATCHIFY_CURLOPT_HTTPHEADER = 10023,
  WATCHIFY_CURLOPT_HEADERDATA = 10029,
  WATCHIFY_CURLOPT_CUSTOMREQUEST = 10036,
  WATCHIFY_CURLOPT_XFERINFODATA = 10057,
  WATCHIFY_CURLOPT_CAINFO = 10065,
  WATCHIFY_CURLOPT_ACCEPT_ENCODING = 10102,
  WATCHIFY_CURLOPT_OPENSOCKETDATA = 10164,
  WATCHIFY_CURLOPT_COPYPOSTFIELDS = 10165,
  WATCHIFY_CURLOPT_USERNAME = 10173,
  WATCHIFY_CURLOPT_PASSWORD = 10174,
  WATCHIFY_CURLOPT_NOPROXY = 10177,
  WATCHIFY_CURLOPT_MAIL_FROM = 10186,
  WATCHIFY_CURLOPT_MAIL_RCPT = 10187,
  WATCHIFY_CURLOPT_WRITEFUNCTION = 20011,
  WATCHIFY_CURLOPT_READFUNCTION = 20012,
  WATCHIFY_CURLOPT_HEADERFUNCTION = 20079,
  WATCHIFY_CURLOPT_OPENSOCKETFUNCTION = 20163,
  WATCHIFY_CURLOPT_XFERINFOFUNCTION = 20219,
  WATCHIFY_CURLOPT_NOPROGRESS = 43,
  WATCHIFY_CURLOPT_UPLOAD = 46,
  WATCHIFY_CURLOPT_POSTFIELDSIZE = 60,
  WATCHIFY_CURLOPT_FORBID_REUSE = 75,
  WATCHIFY_CURLOPT_NOSIGNAL = 99,
  WATCHIFY_CURLOPT_USE_SSL = 119,
  WATCHIFY_CURLOPT_CONNECTTIMEOUT_MS = 156,
  WATCHIFY_CURLOPT_PROTOCOLS = 181,
  WATCHIFY_CURLOPT_SUPPRESS_CONNECT_HEADERS = 265,
  WATCHIFY_CURLINFO_RESPONSE_CODE = 0x200002,
  WATCHIFY_CURLINFO_REQUEST_SIZE = 0x200000 + 12,
  WATCHIFY_CURLINFO_SSL_VERIFYRESULT = 0x200000 + 13,
  WATCHIFY_CURLINFO_OS_ERRNO = 0x200000 + 25,
  WATCHIFY_CURLINFO_PRIMARY_IP = 0x100000 + 32,
};

// Returns `NULL` if libcurl is missing or older than 2020. The result is valid until the process ends.
static inline const watchify_curl *watchify_curl_load(void) {
  void *library = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
  if (!library) library = dlopen("libcurl-gnutls.so.4", RTLD_NOW | RTLD_LOCAL);
  watchify_curl *curl = library ? (watchify_curl *)calloc(1, sizeof *curl) : NULL;
  if (!curl) return NULL;
  struct {
    void **place;
    const char *name;
  } symbols[] = {
      {(void **)&curl->global_init, "curl_global_init"},
      {(void **)&curl->easy_init, "curl_easy_init"},
      {(void **)&curl->easy_cleanup, "curl_easy_cleanup"},
      {(void **)&curl->easy_setopt, "curl_easy_setopt"},
      {(void **)&curl->easy_getinfo, "curl_easy_getinfo"},
      {(void **)&curl->slist_append, "curl_slist_append"},
      {(void **)&curl->slist_free_all, "curl_slist_free_all"},
      {(void **)&curl->multi_init, "curl_multi_init"},
      {(void **)&curl->multi_cleanup, "curl_multi_cleanup"},
      {(void **)&curl->multi_add_handle, "curl_multi_add_handle"},
      {(void **)&curl->multi_remove_handle, "curl_multi_remove_handle"},
      {(void **)&curl->multi_perform, "curl_multi_perform"},
      {(void **)&curl->multi_poll, "curl_multi_poll"},
      {(void **)&curl->multi_wakeup, "curl_multi_wakeup"},
      {(void **)&curl->multi_info_read, "curl_multi_info_read"},
  };
  for (size_t index = 0; index < sizeof symbols / sizeof *symbols; index++) {
    *symbols[index].place = dlsym(library, symbols[index].name);
    if (!*symbols[index].place) {
      free(curl);
      return NULL;
    }
  }
  // CURL_GLOBAL_ALL
  if (curl->global_init(3) != 0) {
    free(curl);
    return NULL;
  }
  return curl;
}

// Wrappers of libcurl's variadic functions for options and results, which Swift cannot call.

static inline int watchify_curl_set_number(const watchify_curl *curl, void *easy, int option, long value) {
  return curl->easy_setopt(easy, option, value);
}

static inline int watchify_curl_set_pointer(const watchify_curl *curl, void *easy, int option, const void *value) {
  return curl->easy_setopt(easy, option, value);
}

typedef size_t (*watchify_curl_data)(char *bytes, size_t size, size_t count, void *context);
static inline int watchify_curl_set_data(const watchify_curl *curl, void *easy, int option, watchify_curl_data function) {
  return curl->easy_setopt(easy, option, function);
}

typedef int (*watchify_curl_progress)(void *context, int64_t total, int64_t now, int64_t upTotal, int64_t upNow);
static inline int watchify_curl_set_progress(const watchify_curl *curl, void *easy, watchify_curl_progress function) {
  return curl->easy_setopt(easy, WATCHIFY_CURLOPT_XFERINFOFUNCTION, function);
}

typedef int (*watchify_curl_open)(void *context, int purpose, watchify_curl_address *address);
static inline int watchify_curl_set_open(const watchify_curl *curl, void *easy, watchify_curl_open function) {
  return curl->easy_setopt(easy, WATCHIFY_CURLOPT_OPENSOCKETFUNCTION, function);
}

static inline long watchify_curl_number(const watchify_curl *curl, void *easy, int info) {
  long value = 0;
  return curl->easy_getinfo(easy, info, &value) == 0 ? value : 0;
}

static inline const char *watchify_curl_text(const watchify_curl *curl, void *easy, int info) {
  const char *value = NULL;
  return curl->easy_getinfo(easy, info, &value) == 0 ? value : NULL;
}

// Returns the result of the only transfer of a multi handle; -1 while it is in progress.
static inline int watchify_curl_result(const watchify_curl *curl, void *multi) {
  int left = 0;
  const watchify_curl_message *message = (const watchify_curl_message *)curl->multi_info_read(multi, &left);
  return message && message->message == 1 ? message->data.result : -1;
}
