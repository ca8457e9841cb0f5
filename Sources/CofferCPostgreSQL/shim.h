#pragma once
#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include "libpq.h"

// Macros of libpq, addresses, epoll(7) and threads, none of which Swift can use directly.

static const int coffer_pq_sqlstate = PG_DIAG_SQLSTATE;
static const int coffer_pq_severity = PG_DIAG_SEVERITY_NONLOCALIZED;

// ---- addresses

static inline int coffer_pq_is_address(const char *host) {
  struct in_addr four;
  struct in6_addr six;
  return inet_pton(AF_INET, host, &four) == 1 || inet_pton(AF_INET6, host, &six) == 1;
}

static inline int coffer_pq_is_loopback(const char *host) {
  struct in_addr four;
  struct in6_addr six;
  if (inet_pton(AF_INET, host, &four) == 1) return (ntohl(four.s_addr) >> 24) == 127;
  return inet_pton(AF_INET6, host, &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six);
}

// The size of a numeric address with its scope.
#define coffer_pq_address_size 80

// Resolves a name, which blocks. Writes up to `capacity` numeric addresses of the size above, and returns their number,
// or a negative number if the name has none.
static inline int coffer_pq_resolve(const char *name, char *addresses, int capacity) {
  struct addrinfo hints, *found = NULL;
  memset(&hints, 0, sizeof hints);
  hints.ai_socktype = SOCK_STREAM;
  if (getaddrinfo(name, NULL, &hints, &found) != 0) return -1;
  int count = 0;
  for (struct addrinfo *each = found; each && count < capacity; each = each->ai_next) {
    char *text = addresses + coffer_pq_address_size * count;
    if (getnameinfo(each->ai_addr, each->ai_addrlen, text, coffer_pq_address_size, NULL, 0, NI_NUMERICHOST) == 0) {
      count++;
    }
  }
  freeaddrinfo(found);
  return count;
}

// ---- connections

// Closes both directions of a connection without a farewell, so that libpq sends nothing further to it.
static inline void coffer_pq_cut(int socket) {
  if (socket >= 0) shutdown(socket, SHUT_RDWR);
}

// Returns the effects of a failed attempt on a socket, such as ECONNREFUSED; 0 if there are none.
static inline int coffer_pq_socket_error(int socket) {
  int number = 0;
  socklen_t size = sizeof number;
  if (socket < 0 || getsockopt(socket, SOL_SOCKET, SO_ERROR, &number, &size) != 0) return 0;
  return number;
}

// The part of OpenSSL that tells why a certificate was not accepted: libpq 15 does not report it, and frees the session
// when the handshake fails.
struct ssl_st;
extern int SSL_up_ref(struct ssl_st *session);
extern void SSL_free(struct ssl_st *session);
extern long SSL_get_verify_result(const struct ssl_st *session);
extern int SSL_is_init_finished(const struct ssl_st *session);
extern int SSL_pending(const struct ssl_st *session);
extern int SSL_peek(struct ssl_st *session, void *buffer, int size);
extern int SSL_want(const struct ssl_st *session);
coffer_pq_forward(void *, PQsslStruct, pq_sslStruct, (PGconn *connection, const char *name), (connection, name))
coffer_pq_forward(int, SSL_up_ref, pq_ssl_retain, (struct ssl_st *session), (session))
coffer_pq_forward(void, SSL_free, pq_ssl_release, (struct ssl_st *session), (session))
coffer_pq_forward(long, SSL_get_verify_result, pq_ssl_verify_result, (const struct ssl_st *session), (session))
coffer_pq_forward(int, SSL_is_init_finished, pq_ssl_is_established, (const struct ssl_st *session), (session))
coffer_pq_forward(int, SSL_pending, pq_ssl_pending, (const struct ssl_st *session), (session))
coffer_pq_forward(int, SSL_peek, pq_ssl_peek, (struct ssl_st *session, void *buffer, int size), (session, buffer, size))
coffer_pq_forward(int, SSL_want, pq_ssl_want, (const struct ssl_st *session), (session))

// Returns the session of a handshake, to be released with coffer_pq_release_session; NULL if there is none.
static inline void *coffer_pq_retain_session(PGconn *connection) {
  struct ssl_st *session = (struct ssl_st *)pq_sslStruct(connection, "OpenSSL");
  if (session && pq_ssl_retain(session) != 1) return NULL;
  return session;
}

static inline void coffer_pq_release_session(void *session) { pq_ssl_release((struct ssl_st *)session); }

// Returns the number of OpenSSL for what is wrong with the certificate of the peer; 0 if nothing is.
static inline long coffer_pq_verify_result(const void *session) {
  return pq_ssl_verify_result((const struct ssl_st *)session);
}

static inline int coffer_pq_is_established(const void *session) {
  return pq_ssl_is_established((const struct ssl_st *)session);
}

// Returns whether OpenSSL holds decrypted bytes that libpq has not taken: the socket does not become readable for them.
static inline int coffer_pq_has_decrypted(PGconn *connection) {
  struct ssl_st *session = (struct ssl_st *)pq_sslStruct(connection, "OpenSSL");
  return session && pq_ssl_pending(session) > 0;
}

// Copies what has arrived without taking it. Returns its size; 0 at the end of the connection or after an error of TLS,
// and -1 if nothing has arrived.
static inline int coffer_pq_peek(PGconn *connection, void *buffer, int size) {
  struct ssl_st *session = (struct ssl_st *)pq_sslStruct(connection, "OpenSSL");
  if (session) {
    int count = pq_ssl_peek(session, buffer, size);
    if (count > 0) return count;
    char byte;
    ssize_t raw = recv(pq_socket(connection), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    // The rest of a record may arrive between the two calls: OpenSSL then still wants to read (SSL_READING).
    if (raw > 0 && pq_ssl_want(session) == 2) return -1;
    return raw < 0 && (errno == EAGAIN || errno == EINTR) ? -1 : 0;
  }
  ssize_t count = recv(pq_socket(connection), buffer, size, MSG_PEEK | MSG_DONTWAIT);
  if (count < 0) return errno == EAGAIN || errno == EINTR ? -1 : 0;
  return (int)count;
}

// Lets nothing more arrive at a socket; the peer sends it again later. Returns 0 on success.
static inline int coffer_pq_keep_out(int socket) {
  struct sock_filter drop = {BPF_RET | BPF_K, 0, 0, 0};
  struct sock_fprog program = {1, &drop};
  return setsockopt(socket, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program);
}

// Ends `coffer_pq_keep_out`.
static inline void coffer_pq_let_in(int socket) {
  int unused = 0;
  if (socket >= 0) setsockopt(socket, SOL_SOCKET, SO_DETACH_FILTER, &unused, sizeof unused);
}

// ---- waiting

static inline int coffer_pq_make_poll(void) { return epoll_create1(EPOLL_CLOEXEC); }
static inline int coffer_pq_make_sign(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

static inline void coffer_pq_raise(int sign) {
  uint64_t one = 1;
  ssize_t ignored = write(sign, &one, sizeof one);
  (void)ignored;
}

static inline void coffer_pq_lower(int sign) {
  uint64_t count;
  ssize_t ignored = read(sign, &count, sizeof count);
  (void)ignored;
}

#define coffer_pq_readable 1
#define coffer_pq_writable 2
// The end of what the peer sends, where nothing else is waited for.
#define coffer_pq_ended 4

// Watches a socket, or changes what is watched. Returns 0 on success.
static inline int coffer_pq_watch(int poll, int socket, uint64_t id, int interest, int is_new) {
  struct epoll_event event = {.events = 0};
  if (interest & coffer_pq_readable) event.events |= EPOLLIN;
  if (interest & coffer_pq_writable) event.events |= EPOLLOUT;
  if (interest & coffer_pq_ended) event.events |= EPOLLRDHUP;
  event.data.u64 = id;
  return epoll_ctl(poll, is_new ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, socket, &event);
}

static inline void coffer_pq_ignore(int poll, int socket) {
  struct epoll_event event = {.events = 0};
  epoll_ctl(poll, EPOLL_CTL_DEL, socket, &event);
}

// Waits for at most `milliseconds` (-1: without limit). Stores the ids of sockets, and what they are ready for; errors
// make a socket ready for everything. Returns their number.
static inline int coffer_pq_wait(int poll, uint64_t *ids, int *ready, int capacity, int milliseconds) {
  struct epoll_event events[32];
  int count = epoll_wait(poll, events, capacity < 32 ? capacity : 32, milliseconds);
  for (int index = 0; index < count; index++) {
    uint32_t seen = events[index].events;
    ids[index] = events[index].data.u64;
    ready[index] = (seen & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR) ? coffer_pq_readable : 0) |
                   (seen & (EPOLLOUT | EPOLLHUP | EPOLLERR) ? coffer_pq_writable : 0);
  }
  return count < 0 ? 0 : count;
}

// Waits for at most `milliseconds` until something has arrived at a socket. Returns whether it has, or an error.
static inline int coffer_pq_await(int socket, int milliseconds) {
  struct pollfd each = {.fd = socket, .events = POLLIN};
  return poll(&each, 1, milliseconds) != 0;
}

// Starts a thread that no signal is delivered to, and that ends by itself. Returns an error number.
static inline int coffer_pq_start_thread(void *(*body)(void *), void *context) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  int result = pthread_create(&thread, NULL, body, context);
  if (result == 0) pthread_detach(thread);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return result;
}

// Names the calling thread, for debuggers.
static inline void coffer_pq_name_thread(const char *name) { prctl(PR_SET_NAME, name, 0, 0, 0); }
