#pragma once
#include <arpa/inet.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

// Wrappers of libmicrohttpd's variadic functions, which Swift cannot call.

typedef void *(*watchify_mhd_uri)(void *context, const char *uri, struct MHD_Connection *connection);

// Starts a daemon on the loopback address, with a thread per connection, so that responses may block.
static inline struct MHD_Daemon *watchify_mhd_start(uint16_t port, MHD_AccessHandlerCallback handler, watchify_mhd_uri uri,
                                                  MHD_RequestCompletedCallback completed, void *context) {
  struct sockaddr_in address;
  memset(&address, 0, sizeof address);
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return MHD_start_daemon(MHD_USE_THREAD_PER_CONNECTION | MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL | MHD_USE_ITC,
                          port, NULL, NULL, handler, context, MHD_OPTION_SOCK_ADDR, &address,
                          MHD_OPTION_URI_LOG_CALLBACK, uri, context, MHD_OPTION_NOTIFY_COMPLETED, completed, context,
                          MHD_OPTION_END);
}

// Returns the port of a daemon; 0 if unknown.
static inline uint16_t watchify_mhd_port(struct MHD_Daemon *daemon) {
  const union MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT);
  return info ? info->port : 0;
}

// Returns the socket of a connection; -1 if it has none.
static inline int watchify_mhd_socket(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  return info ? info->connect_fd : -1;
}

// Resets a TCP connection: dissolving the association sends RST, whereas close(2) would send FIN.
static inline void watchify_mhd_reset(int socket) {
  struct sockaddr nobody;
  memset(&nobody, 0, sizeof nobody);
  nobody.sa_family = AF_UNSPEC;
  connect(socket, &nobody, sizeof nobody);
}

// Creates a descriptor that becomes readable after a number is written to it.
static inline int watchify_make_sign(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }
