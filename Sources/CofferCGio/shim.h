#pragma once
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

// Declarations of GLib, GObject, GIO and libsecret, with the names and values of their stable interfaces (GLib 2.x,
// libsecret-1). The libraries are loaded on first use, so a program builds and starts without them and without their
// headers. A test compiles these declarations against the real headers where those are installed.

#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wnullability-completeness"

typedef struct _GAsyncResult GAsyncResult;
typedef struct _GCancellable GCancellable;
typedef struct _GDBusAuthObserver GDBusAuthObserver;
typedef struct _GDBusConnection GDBusConnection;
typedef struct _GDBusMessage GDBusMessage;
typedef struct _GDBusProxy GDBusProxy;
typedef struct _GError GError;
typedef struct _GMainContext GMainContext;
typedef struct _GObject GObject;
typedef struct _GTypeInstance GTypeInstance;
typedef struct _GTypeQuery GTypeQuery;
typedef struct _GVariant GVariant;
typedef struct _GVariantType GVariantType;
typedef struct _SecretService SecretService;
typedef struct _SecretValue SecretValue;

typedef void (*coffer_log_handler)(const char *domain, int level, const char *message, void *data);
typedef void (*coffer_destroy)(void *data);
typedef void (*coffer_signal_callback)(GDBusConnection *connection, const char *sender, const char *path,
                                       const char *interface, const char *member, GVariant *arguments, void *data);
typedef void (*coffer_reply_callback)(GObject *source, GAsyncResult *result, void *data);
typedef GDBusMessage *(*coffer_message_filter)(GDBusConnection *connection, GDBusMessage *message, int incoming,
                                               void *data);

// The functions of libgio and of the libraries it links.
#define COFFER_GIO_FUNCTIONS(F)                                                                                       \
  F(void, g_free, (void *))                                                                                           \
  F(void *_Nonnull, g_object_ref, (void *))                                                                           \
  F(void, g_object_unref, (void *))                                                                                   \
  F(void, g_error_free, (GError *))                                                                                   \
  F(const char *_Nullable, g_quark_to_string, (uint32_t))                                                             \
  F(uint32_t, g_io_error_quark, (void))                                                                               \
  F(char *_Nullable, g_dbus_error_get_remote_error, (const GError *))                                                 \
  F(int, g_dbus_error_strip_remote_error, (GError *))                                                                 \
  F(GCancellable *_Nonnull, g_cancellable_new, (void))                                                                \
  F(void, g_cancellable_cancel, (GCancellable *))                                                                     \
  F(GMainContext *_Nonnull, g_main_context_new, (void))                                                               \
  F(void, g_main_context_unref, (GMainContext *))                                                                     \
  F(void, g_main_context_push_thread_default, (GMainContext *))                                                       \
  F(void, g_main_context_pop_thread_default, (GMainContext *))                                                        \
  F(int, g_main_context_iteration, (GMainContext *, int))                                                             \
  F(void, g_main_context_wakeup, (GMainContext *))                                                                    \
  F(int, g_variant_type_string_is_valid, (const char *))                                                              \
  F(GVariantType *_Nonnull, g_variant_type_new, (const char *))                                                       \
  F(void, g_variant_type_free, (GVariantType *))                                                                      \
  F(int, g_variant_is_object_path, (const char *))                                                                    \
  F(int, g_variant_is_signature, (const char *))                                                                      \
  F(GVariant *_Nonnull, g_variant_take_ref, (GVariant *))                                                             \
  F(void, g_variant_unref, (GVariant *))                                                                              \
  F(const char *_Nonnull, g_variant_get_type_string, (GVariant *))                                                    \
  F(size_t, g_variant_n_children, (GVariant *))                                                                       \
  F(GVariant *_Nonnull, g_variant_get_child_value, (GVariant *, size_t))                                              \
  F(GVariant *_Nonnull, g_variant_get_variant, (GVariant *))                                                          \
  F(size_t, g_variant_get_size, (GVariant *))                                                                         \
  F(const void *_Nullable, g_variant_get_data, (GVariant *))                                                          \
  F(const char *_Nonnull, g_variant_get_string, (GVariant *, size_t *))                                               \
  F(int, g_variant_get_boolean, (GVariant *))                                                                         \
  F(uint8_t, g_variant_get_byte, (GVariant *))                                                                        \
  F(int16_t, g_variant_get_int16, (GVariant *))                                                                       \
  F(uint16_t, g_variant_get_uint16, (GVariant *))                                                                     \
  F(int32_t, g_variant_get_int32, (GVariant *))                                                                       \
  F(uint32_t, g_variant_get_uint32, (GVariant *))                                                                     \
  F(int64_t, g_variant_get_int64, (GVariant *))                                                                       \
  F(uint64_t, g_variant_get_uint64, (GVariant *))                                                                     \
  F(int32_t, g_variant_get_handle, (GVariant *))                                                                      \
  F(double, g_variant_get_double, (GVariant *))                                                                       \
  F(GVariant *_Nonnull, g_variant_new_boolean, (int))                                                                 \
  F(GVariant *_Nonnull, g_variant_new_byte, (uint8_t))                                                                \
  F(GVariant *_Nonnull, g_variant_new_int16, (int16_t))                                                               \
  F(GVariant *_Nonnull, g_variant_new_uint16, (uint16_t))                                                             \
  F(GVariant *_Nonnull, g_variant_new_int32, (int32_t))                                                               \
  F(GVariant *_Nonnull, g_variant_new_uint32, (uint32_t))                                                             \
  F(GVariant *_Nonnull, g_variant_new_int64, (int64_t))                                                               \
  F(GVariant *_Nonnull, g_variant_new_uint64, (uint64_t))                                                             \
  F(GVariant *_Nonnull, g_variant_new_handle, (int32_t))                                                              \
  F(GVariant *_Nonnull, g_variant_new_double, (double))                                                               \
  F(GVariant *_Nonnull, g_variant_new_string, (const char *))                                                         \
  F(GVariant *_Nonnull, g_variant_new_object_path, (const char *))                                                    \
  F(GVariant *_Nonnull, g_variant_new_signature, (const char *))                                                      \
  F(GVariant *_Nonnull, g_variant_new_variant, (GVariant *))                                                          \
  F(GVariant *_Nonnull, g_variant_new_tuple, (GVariant *const *, size_t))                                             \
  F(GVariant *_Nonnull, g_variant_new_array, (const GVariantType *, GVariant *const *, size_t))                       \
  F(GVariant *_Nonnull, g_variant_new_dict_entry, (GVariant *, GVariant *))                                           \
  F(GVariant *_Nonnull, g_variant_new_fixed_array, (const GVariantType *, const void *, size_t, size_t))              \
  F(int, g_dbus_is_name, (const char *))                                                                              \
  F(int, g_dbus_is_interface_name, (const char *))                                                                    \
  F(int, g_dbus_is_member_name, (const char *))                                                                       \
  F(GDBusConnection *_Nullable, g_dbus_connection_new_for_address_sync,                                               \
    (const char *, unsigned, GDBusAuthObserver *, GCancellable *, GError **))                                         \
  F(void, g_dbus_connection_set_exit_on_close, (GDBusConnection *, int))                                              \
  F(int, g_dbus_connection_is_closed, (GDBusConnection *))                                                            \
  F(const char *_Nullable, g_dbus_connection_get_unique_name, (GDBusConnection *))                                    \
  F(int, g_dbus_connection_close_sync, (GDBusConnection *, GCancellable *, GError **))                                \
  F(GVariant *_Nullable, g_dbus_connection_call_sync,                                                                 \
    (GDBusConnection *, const char *, const char *, const char *, const char *, GVariant *, const GVariantType *,     \
     unsigned, int, GCancellable *, GError **))                                                                       \
  F(void, g_dbus_connection_call,                                                                                     \
    (GDBusConnection *, const char *, const char *, const char *, const char *, GVariant *, const GVariantType *,     \
     unsigned, int, GCancellable *, coffer_reply_callback, void *))                                                   \
  F(GVariant *_Nullable, g_dbus_connection_call_finish, (GDBusConnection *, GAsyncResult *, GError **))               \
  F(unsigned, g_dbus_connection_signal_subscribe,                                                                     \
    (GDBusConnection *, const char *, const char *, const char *, const char *, const char *, unsigned,               \
     coffer_signal_callback, void *, coffer_destroy))                                                                 \
  F(void, g_dbus_connection_signal_unsubscribe, (GDBusConnection *, unsigned))                                        \
  F(unsigned, g_dbus_connection_add_filter, (GDBusConnection *, coffer_message_filter, void *, coffer_destroy))       \
  F(void, g_dbus_connection_remove_filter, (GDBusConnection *, unsigned))                                             \
  F(int, g_dbus_connection_send_message,                                                                              \
    (GDBusConnection *, GDBusMessage *, unsigned, volatile uint32_t *, GError **))                                    \
  F(unsigned, g_dbus_message_get_message_type, (GDBusMessage *))                                                      \
  F(const char *_Nullable, g_dbus_message_get_path, (GDBusMessage *))                                                 \
  F(const char *_Nullable, g_dbus_message_get_interface, (GDBusMessage *))                                            \
  F(const char *_Nullable, g_dbus_message_get_member, (GDBusMessage *))                                               \
  F(GVariant *_Nullable, g_dbus_message_get_body, (GDBusMessage *))                                                   \
  F(void, g_dbus_message_set_body, (GDBusMessage *, GVariant *))                                                      \
  F(GDBusMessage *_Nonnull, g_dbus_message_new_method_reply, (GDBusMessage *))                                        \
  F(GDBusMessage *_Nonnull, g_dbus_message_new_method_error_literal, (GDBusMessage *, const char *, const char *))

// The functions of libsecret, and of GObject and GIO, which it links.
#define COFFER_SECRET_FUNCTIONS(F)                                                                                    \
  F(unsigned, g_log_set_handler, (const char *, int, coffer_log_handler, void *))                                     \
  F(void, g_log_remove_handler, (const char *, unsigned))                                                             \
  F(void, g_log_default_handler, (const char *, int, const char *, void *))                                           \
  F(void *, g_type_class_ref, (size_t))                                                                               \
  F(void, g_type_class_unref, (void *))                                                                               \
  F(size_t, g_type_from_name, (const char *))                                                                         \
  F(void, g_type_query, (size_t, GTypeQuery *))                                                                       \
  F(size_t, g_type_register_static_simple,                                                                            \
    (size_t, const char *, unsigned, void (*)(void *, void *), unsigned, void (*)(GTypeInstance *, void *), unsigned)) \
  F(void *, g_initable_new, (size_t, GCancellable *, GError **, const char *, ...))                                   \
  F(size_t, g_dbus_proxy_get_type, (void))                                                                            \
  F(void, g_dbus_proxy_set_default_timeout, (GDBusProxy *, int))                                                      \
  F(size_t, secret_service_get_type, (void))                                                                          \
  F(int, secret_service_ensure_session_sync, (SecretService *, GCancellable *, GError **))                            \
  F(const char *_Nullable, secret_service_get_session_dbus_path, (SecretService *))                                   \
  F(const char *_Nullable, secret_service_get_session_algorithms, (SecretService *))                                  \
  F(GVariant *_Nullable, secret_service_encode_dbus_secret, (SecretService *, SecretValue *))                         \
  F(SecretValue *_Nullable, secret_service_decode_dbus_secret, (SecretService *, GVariant *))                         \
  F(SecretValue *_Nullable, secret_value_new, (const char *, ptrdiff_t, const char *))                                \
  F(const char *_Nullable, secret_value_get, (SecretValue *, size_t *))                                               \
  F(void, secret_value_unref, (void *))

#define COFFER_FIELD(result, name, parameters) result(*name) parameters;
typedef struct {
  COFFER_GIO_FUNCTIONS(COFFER_FIELD)
} coffer_gio;
typedef struct {
  COFFER_SECRET_FUNCTIONS(COFFER_FIELD)
} coffer_secret;
#undef COFFER_FIELD

// Values of enumerations: the name here, and the original name for the test that compares the two.
#define COFFER_GIO_NUMBERS(N)                                                                  \
  N(COFFER_IO_ERROR_NOT_FOUND, 1, G_IO_ERROR_NOT_FOUND)                                        \
  N(COFFER_IO_ERROR_INVALID_ARGUMENT, 13, G_IO_ERROR_INVALID_ARGUMENT)                         \
  N(COFFER_IO_ERROR_PERMISSION_DENIED, 14, G_IO_ERROR_PERMISSION_DENIED)                       \
  N(COFFER_IO_ERROR_CLOSED, 18, G_IO_ERROR_CLOSED)                                             \
  N(COFFER_IO_ERROR_CANCELLED, 19, G_IO_ERROR_CANCELLED)                                       \
  N(COFFER_IO_ERROR_TIMED_OUT, 24, G_IO_ERROR_TIMED_OUT)                                       \
  N(COFFER_IO_ERROR_CONNECTION_REFUSED, 39, G_IO_ERROR_CONNECTION_REFUSED)                     \
  N(COFFER_IO_ERROR_BROKEN_PIPE, 44, G_IO_ERROR_BROKEN_PIPE)                                   \
  N(COFFER_CONNECTION_AUTHENTICATES, 1, G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_CLIENT)         \
  N(COFFER_CONNECTION_IS_TO_BUS, 8, G_DBUS_CONNECTION_FLAGS_MESSAGE_BUS_CONNECTION)            \
  N(COFFER_CALL_STARTS_NOTHING, 1, G_DBUS_CALL_FLAGS_NO_AUTO_START)                            \
  N(COFFER_MESSAGE_IS_CALL, 1, G_DBUS_MESSAGE_TYPE_METHOD_CALL)                                \
  N(COFFER_PROXY_LOADS_NO_PROPERTIES, 1, G_DBUS_PROXY_FLAGS_DO_NOT_LOAD_PROPERTIES)            \
  N(COFFER_PROXY_CONNECTS_NO_SIGNALS, 2, G_DBUS_PROXY_FLAGS_DO_NOT_CONNECT_SIGNALS)            \
  N(COFFER_PROXY_STARTS_NOTHING, 4, G_DBUS_PROXY_FLAGS_DO_NOT_AUTO_START)                      \
  N(COFFER_LOG_ALL, -1, G_LOG_LEVEL_MASK | G_LOG_FLAG_FATAL | G_LOG_FLAG_RECURSION)             \
  N(COFFER_SECRET_SERVICE_NONE, 0, SECRET_SERVICE_NONE)

#define COFFER_NUMBER(name, value, original) name = value,
enum { COFFER_GIO_NUMBERS(COFFER_NUMBER) };
#undef COFFER_NUMBER

// struct _GError
typedef struct {
  uint32_t domain;
  int code;
  char *_Nullable message;
} coffer_error;

// struct _GTypeQuery
typedef struct {
  size_t type;
  const char *name;
  unsigned class_size;
  unsigned instance_size;
} coffer_type_query;

// The beginning of struct _GObjectClass.
typedef struct {
  size_t type;
  void *properties;
  void *constructor;
} coffer_object_class;

#define COFFER_LOAD(result, function, parameters)                       \
  if (!(*(void **)&table->function = dlsym(library, #function))) {      \
    *problem = dlerror();                                               \
    free(table);                                                        \
    return NULL;                                                        \
  }

// Returns the functions of the library, which stay valid for the lifetime of the process. If the library or one of its
// functions is missing, returns `NULL` and sets `problem`, which is valid until the thread's next call of the loader.
static inline const coffer_gio *_Nullable coffer_gio_load(const char *library_name, const char **problem) {
  void *library = dlopen(library_name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  coffer_gio *table = library ? (coffer_gio *)calloc(1, sizeof *table) : NULL;
  if (!table) {
    *problem = dlerror();
    return NULL;
  }
  COFFER_GIO_FUNCTIONS(COFFER_LOAD)
  return table;
}

static inline const coffer_secret *_Nullable coffer_secret_load(const char *library_name, const char **problem) {
  void *library = dlopen(library_name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  coffer_secret *table = library ? (coffer_secret *)calloc(1, sizeof *table) : NULL;
  if (!table) {
    *problem = dlerror();
    return NULL;
  }
  COFFER_SECRET_FUNCTIONS(COFFER_LOAD)
  return table;
}
#undef COFFER_LOAD

// Wrappers for what Swift cannot import: variadic functions, and structures whose size is known only at run time.

// Registers a subclass of libsecret's SecretService that uses the constructor of GDBusProxy, since its own requires the
// process's shared connection to the session bus. Call it once.
static inline size_t coffer_secret_service_register(const coffer_secret *secret) {
  const char *name = "CofferSecretService";
  coffer_type_query base = {0};
  size_t made = secret->g_type_from_name(name);
  if (made) return made;
  secret->g_type_query(secret->secret_service_get_type(), (GTypeQuery *)&base);
  made = secret->g_type_register_static_simple(base.type, name, base.class_size, NULL, base.instance_size, NULL, 0);
  // Set before the first instance is created; the reference is kept, so the class is never unloaded.
  coffer_object_class *proxy = (coffer_object_class *)secret->g_type_class_ref(secret->g_dbus_proxy_get_type());
  coffer_object_class *own = (coffer_object_class *)secret->g_type_class_ref(made);
  own->constructor = proxy->constructor;
  secret->g_type_class_unref(proxy);
  return made;
}

// Creates a proxy that opens no session, loads no properties and subscribes to no signals by itself.
static inline SecretService *_Nullable coffer_secret_service_new(const coffer_secret *secret, size_t type,
                                                                 GDBusConnection *connection, const char *owner,
                                                                 int timeout, GCancellable *cancellable,
                                                                 GError **error) {
  unsigned quiet = COFFER_PROXY_LOADS_NO_PROPERTIES | COFFER_PROXY_CONNECTS_NO_SIGNALS | COFFER_PROXY_STARTS_NOTHING;
  void *made = secret->g_initable_new(type, cancellable, error, "g-connection", connection, "g-name", owner,
                                      "g-object-path", "/org/freedesktop/secrets", "g-interface-name",
                                      "org.freedesktop.Secret.Service", "g-flags", quiet, "flags",
                                      (unsigned)COFFER_SECRET_SERVICE_NONE, (void *)NULL);
  if (made) secret->g_dbus_proxy_set_default_timeout((GDBusProxy *)made, timeout);
  return (SecretService *)made;
}

// Whether messages of libsecret about malformed replies are dropped on this thread: the failed call reports them. Only
// one Swift file uses it, so there is a single variable for each thread.
static inline int *coffer_quiet(void) {
  static _Thread_local int is_quiet;
  return &is_quiet;
}

static inline void coffer_drop_message(const char *domain, int level, const char *message, void *secret) {
  if (!*coffer_quiet()) ((const coffer_secret *)secret)->g_log_default_handler(domain, level, message, NULL);
}

typedef struct {
  unsigned of_secret, of_glib;
} coffer_log_handlers;

// Drops the messages of libsecret, and of GLib on its behalf, on this thread until `coffer_end_quiet` is called with the
// result.
static inline coffer_log_handlers coffer_begin_quiet(const coffer_secret *secret) {
  *coffer_quiet() = 1;
  coffer_log_handlers handlers;
  handlers.of_secret = secret->g_log_set_handler("libsecret", COFFER_LOG_ALL, coffer_drop_message, (void *)secret);
  handlers.of_glib = secret->g_log_set_handler("GLib", COFFER_LOG_ALL, coffer_drop_message, (void *)secret);
  return handlers;
}

static inline void coffer_end_quiet(const coffer_secret *secret, coffer_log_handlers handlers) {
  secret->g_log_remove_handler("libsecret", handlers.of_secret);
  secret->g_log_remove_handler("GLib", handlers.of_glib);
  *coffer_quiet() = 0;
}

#pragma clang diagnostic pop

// Makes the ordering established by GLib's own locks visible to the thread sanitizer, which does not instrument GLib.
// Only one Swift file uses it, so there is a single lock.
#include <pthread.h>

static pthread_mutex_t coffer_order = PTHREAD_MUTEX_INITIALIZER;

static inline void coffer_show_order(void) {
  pthread_mutex_lock(&coffer_order);
  pthread_mutex_unlock(&coffer_order);
}
