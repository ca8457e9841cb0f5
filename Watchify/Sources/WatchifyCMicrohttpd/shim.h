#pragma once
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <microhttpd.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

// libmicrohttpd's variadic functions, macros and epoll(7), none of which Swift can use directly.

typedef void *(*coffer_mhd_uri)(void *context, const char *uri, struct MHD_Connection *connection);

// The functions that a daemon calls, all with the same context.
struct coffer_mhd_callbacks {
  MHD_AccessHandlerCallback access;
  coffer_mhd_uri uri;
  MHD_RequestCompletedCallback completed;
  MHD_NotifyConnectionCallback connection;
};

struct coffer_mhd_options {
  int listening;            // a listening socket
  unsigned int connections; // in all
  unsigned int idle;        // seconds
  size_t memory;            // bytes per connection
  const char *key;          // PEM, or NULL for a server without TLS
  const char *chain;
};

// Creates a daemon that does nothing by itself: its owner polls the descriptor below and calls MHD_run. Closes the
// listening socket if it returns NULL.
static inline struct MHD_Daemon *coffer_mhd_start(const struct coffer_mhd_options *options,
                                                  const struct coffer_mhd_callbacks *callbacks, void *context) {
  struct MHD_OptionItem items[] = {
      {MHD_OPTION_LISTEN_SOCKET, options->listening, NULL},
      {MHD_OPTION_CONNECTION_LIMIT, (intptr_t)options->connections, NULL},
      {MHD_OPTION_CONNECTION_TIMEOUT, (intptr_t)options->idle, NULL},
      {MHD_OPTION_CONNECTION_MEMORY_LIMIT, (intptr_t)options->memory, NULL},
      {MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1, NULL},
      {MHD_OPTION_STRICT_FOR_CLIENT, 1, NULL},
      {MHD_OPTION_URI_LOG_CALLBACK, (intptr_t)callbacks->uri, context},
      {MHD_OPTION_NOTIFY_COMPLETED, (intptr_t)callbacks->completed, context},
      {MHD_OPTION_NOTIFY_CONNECTION, (intptr_t)callbacks->connection, context},
      {MHD_OPTION_END, 0, NULL}, // replaced when there is a key
      {MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)options->chain},
      // TLS 1.2 only with ephemeral keys and authenticated encryption (RFC 9325, 4.2), which TLS 1.3 always has.
      {MHD_OPTION_HTTPS_PRIORITIES, 0,
       (void *)"NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:-KX-ALL:+ECDHE-ECDSA:+ECDHE-RSA:+DHE-RSA:-MAC-ALL:+AEAD"},
      {MHD_OPTION_END, 0, NULL},
  };
  unsigned int flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME;
  if (options->key) {
    flags |= MHD_USE_TLS;
    items[9] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)options->key};
  }
  struct stat before, after;
  int known = fstat(options->listening, &before) == 0;
  struct MHD_Daemon *daemon = MHD_start_daemon(flags, 0, NULL, NULL, callbacks->access, context, MHD_OPTION_ARRAY, items,
                                               MHD_OPTION_END);
  // Some failures close the socket, after which another thread may have reused its number: compare what it names.
  if (!daemon && known && fstat(options->listening, &after) == 0 && before.st_dev == after.st_dev &&
      before.st_ino == after.st_ino) {
    close(options->listening);
  }
  return daemon;
}

// Returns the descriptor that becomes readable when the daemon has work.
static inline int coffer_mhd_descriptor(struct MHD_Daemon *daemon) {
  const union MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_EPOLL_FD);
  return info ? info->epoll_fd : -1;
}

// Returns the milliseconds until the daemon must run again; -1 for none.
static inline int coffer_mhd_timeout(struct MHD_Daemon *daemon) {
  MHD_UNSIGNED_LONG_LONG milliseconds = 0;
  if (MHD_get_timeout(daemon, &milliseconds) != MHD_YES) return -1;
  return milliseconds > 3600000 ? 3600000 : (int)milliseconds;
}

// Returns the socket of a connection; -1 if it has none.
static inline int coffer_mhd_socket(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  return info ? info->connect_fd : -1;
}

// Returns the size of a request's head, including the empty line after it; 0 while it has not arrived.
static inline size_t coffer_mhd_head_size(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
  return info ? info->header_size : 0;
}

// Lets the daemon look at a connection whenever it runs, as at all with a timeout of their own. After a body has failed,
// 0.9.75 would count a connection without a client until another one is due.
static inline void coffer_mhd_look_always(struct MHD_Connection *connection, unsigned int seconds) {
  MHD_set_connection_option(connection, MHD_CONNECTION_OPTION_TIMEOUT, seconds);
}

// Ends a request target at its "?". libmicrohttpd would store each item of the query in the memory of the connection,
// for callers who want them one by one; where some hundred items exceed it, 0.9.75 neither answers the request nor ends
// the connection. The target lies in the connection's buffer, which the query is part of.
static inline void coffer_mhd_drop_query(const char *target) {
  char *mark = strchr((char *)target, '?');
  if (mark) mark[1] = 0;
}

// Writes the numeric address of the peer of a connection; an empty text if it has none.
static inline void coffer_mhd_peer(struct MHD_Connection *connection, char *text, socklen_t size) {
  text[0] = 0;
  const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
  if (!info || !info->client_addr) return;
  const struct sockaddr *address = info->client_addr;
  if (address->sa_family == AF_INET) {
    inet_ntop(AF_INET, &((const struct sockaddr_in *)address)->sin_addr, text, size);
  } else if (address->sa_family == AF_INET6) {
    const struct in6_addr *six = &((const struct sockaddr_in6 *)address)->sin6_addr;
    if (IN6_IS_ADDR_V4MAPPED(six)) inet_ntop(AF_INET, six->s6_addr + 12, text, size);
    else inet_ntop(AF_INET6, six, text, size);
  }
}

// Resets a TCP connection: dissolving the association sends RST, whereas close(2) would send FIN.
static inline void coffer_reset(int socket) {
  struct sockaddr nobody;
  memset(&nobody, 0, sizeof nobody);
  nobody.sa_family = AF_UNSPEC;
  connect(socket, &nobody, sizeof nobody);
}

// ---- sockets

// Opens a listening socket at a numeric address; returns the negative error number on failure.
static inline int coffer_listen(const char *host, uint16_t port) {
  struct sockaddr_in four;
  struct sockaddr_in6 six;
  memset(&four, 0, sizeof four);
  memset(&six, 0, sizeof six);
  int family = AF_INET;
  if (inet_pton(AF_INET, host, &four.sin_addr) != 1) {
    family = AF_INET6;
    if (inet_pton(AF_INET6, host, &six.sin6_addr) != 1) return -EADDRNOTAVAIL;
  }
  four.sin_family = AF_INET;
  four.sin_port = htons(port);
  six.sin6_family = AF_INET6;
  six.sin6_port = htons(port);
  int descriptor = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (descriptor < 0) return -errno;
  int yes = 1;
  setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  const struct sockaddr *address = family == AF_INET ? (const struct sockaddr *)&four : (const struct sockaddr *)&six;
  socklen_t size = family == AF_INET ? sizeof four : sizeof six;
  if (bind(descriptor, address, size) != 0 || listen(descriptor, SOMAXCONN) != 0) {
    int number = errno;
    close(descriptor);
    return -number;
  }
  return descriptor;
}

// Duplicates a listening socket of another owner; returns the negative error number if it is none.
static inline int coffer_adopt(int descriptor) {
  int listening = 0;
  socklen_t size = sizeof listening;
  if (getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &listening, &size) != 0) return -errno;
  if (!listening) return -EINVAL;
  int copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 3);
  if (copy < 0) return -errno;
  int flags = fcntl(copy, F_GETFL);
  fcntl(copy, F_SETFL, flags | O_NONBLOCK);
  return copy;
}

// Returns the port of a socket; 0 if it has none, as Unix sockets.
static inline uint16_t coffer_port(int descriptor) {
  struct sockaddr_storage address;
  socklen_t size = sizeof address;
  memset(&address, 0, sizeof address);
  if (getsockname(descriptor, (struct sockaddr *)&address, &size) != 0) return 0;
  if (address.ss_family == AF_INET) return ntohs(((struct sockaddr_in *)&address)->sin_port);
  if (address.ss_family == AF_INET6) return ntohs(((struct sockaddr_in6 *)&address)->sin6_port);
  return 0;
}

// ---- waiting

static inline int coffer_make_poll(void) { return epoll_create1(EPOLL_CLOEXEC); }
static inline int coffer_make_sign(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

// Watches a socket for the end of its peer, which is reported once.
static inline int coffer_watch_peer(int poll, int socket, uint64_t id) {
  struct epoll_event event = {.events = EPOLLRDHUP | EPOLLONESHOT};
  event.data.u64 = id;
  return epoll_ctl(poll, EPOLL_CTL_ADD, socket, &event);
}

static inline void coffer_ignore_peer(int poll, int socket) {
  struct epoll_event event = {.events = 0};
  epoll_ctl(poll, EPOLL_CTL_DEL, socket, &event);
}

// Stores the ids of sockets whose peers have closed, and whether the connection is broken in both directions. Returns
// their number, without waiting.
static inline int coffer_take_peers(int poll, uint64_t *ids, uint8_t *broken, int capacity) {
  struct epoll_event events[32];
  int count = epoll_wait(poll, events, capacity < 32 ? capacity : 32, 0);
  for (int index = 0; index < count; index++) {
    ids[index] = events[index].data.u64;
    broken[index] = (events[index].events & (EPOLLHUP | EPOLLERR)) != 0;
  }
  return count;
}

// Starts a thread that no signal is delivered to, and that ends by itself. Returns an error number.
static inline int coffer_start_thread(void *(*body)(void *), void *context) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  int result = pthread_create(&thread, NULL, body, context);
  if (result == 0) pthread_detach(thread);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return result;
}
