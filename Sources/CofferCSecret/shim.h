#pragma once
// The session's cryptography is in the part of libsecret that wants this said.
#ifndef SECRET_API_SUBJECT_TO_CHANGE
#define SECRET_API_SUBJECT_TO_CHANGE
#endif
// GLib's types belong to one module, whoever else uses them.
#include "../CofferCGio/shim.h"
#include <libsecret/secret.h>

// What Swift cannot import: variadic functions, and macros that cast or call.

static inline void coffer_secret_service_class_init(gpointer made, gpointer unused) {
  gpointer proxy = g_type_class_ref(G_TYPE_DBUS_PROXY);
  (void)unused;
  G_OBJECT_CLASS(made)->constructor = G_OBJECT_CLASS(proxy)->constructor;
  g_type_class_unref(proxy);
}

// libsecret's SecretService, whose own constructor insists on the process's shared connection to the session bus, with
// the constructor of what it is derived from. Call it once.
static inline GType coffer_secret_service_register(void) {
  const char *name = "CofferSecretService";
  GTypeQuery base;
  GType made = g_type_from_name(name);
  if (made) return made;
  g_type_query(SECRET_TYPE_SERVICE, &base);
  return g_type_register_static_simple(SECRET_TYPE_SERVICE, name, base.class_size, coffer_secret_service_class_init,
                                       base.instance_size, NULL, (GTypeFlags)0);
}

// A proxy that opens no session, asks for nothing and listens to nothing until it is told to.
static inline SecretService *coffer_secret_service_new(GType type, GDBusConnection *connection, const char *owner,
                                                       int timeout, GCancellable *cancellable, GError **error) {
  GDBusProxyFlags quiet = G_DBUS_PROXY_FLAGS_DO_NOT_LOAD_PROPERTIES | G_DBUS_PROXY_FLAGS_DO_NOT_CONNECT_SIGNALS |
                          G_DBUS_PROXY_FLAGS_DO_NOT_AUTO_START;
  gpointer made = g_initable_new(type, cancellable, error, "g-connection", connection, "g-name", owner,
                                 "g-object-path", "/org/freedesktop/secrets", "g-interface-name",
                                 "org.freedesktop.Secret.Service", "g-flags", quiet, "flags", SECRET_SERVICE_NONE,
                                 NULL);
  if (made) g_dbus_proxy_set_default_timeout(G_DBUS_PROXY(made), timeout);
  return (SecretService *)made;
}

static inline GDBusConnection *coffer_bus_connect(const char *address, GCancellable *cancellable, GError **error) {
  GDBusConnection *made = g_dbus_connection_new_for_address_sync(
      address, G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_CLIENT | G_DBUS_CONNECTION_FLAGS_MESSAGE_BUS_CONNECTION, NULL,
      cancellable, error);
  if (made) g_dbus_connection_set_exit_on_close(made, FALSE);
  return made;
}

// Never starts the called service: who is not there is an error.
static inline GVariant *coffer_bus_call(GDBusConnection *connection, const char *name, const char *path,
                                        const char *interface, const char *method, GVariant *arguments,
                                        const GVariantType *reply, int timeout, GError **error) {
  return g_dbus_connection_call_sync(connection, name, path, interface, method, arguments, reply,
                                     G_DBUS_CALL_FLAGS_NO_AUTO_START, timeout, NULL, error);
}

static inline gboolean coffer_is_io_error(const GError *error, int code) {
  return g_error_matches(error, G_IO_ERROR, code);
}

// In memory that is not swapped out and is wiped. Without bytes there may be no address either.
static inline SecretValue *coffer_secret_value_new(const void *bytes, size_t count) {
  return secret_value_new(bytes ? (const char *)bytes : "", (gssize)count, "application/octet-stream");
}
