// Compiled by HeaderTests, never linked: the declarations of CofferCGio beside those of the libraries. A difference is
// an error.
#define SECRET_API_SUBJECT_TO_CHANGE
#include <gio/gio.h>
#include <libsecret/secret.h>

#include "../../Sources/CofferCGio/shim.h"

#define CHECK_FUNCTION(result, name, parameters) result(*check_##name) parameters = name;
COFFER_GIO_FUNCTIONS(CHECK_FUNCTION)
COFFER_SECRET_FUNCTIONS(CHECK_FUNCTION)
#ifdef COFFER_CANARY
CHECK_FUNCTION(int, g_variant_get_uint64, (GVariant *))
#endif

#define CHECK_NUMBER(name, value, original) _Static_assert((long long)name == (long long)(original), #original);
COFFER_GIO_NUMBERS(CHECK_NUMBER)

#define CHECK_MEMBER(ours, theirs, member, original)                                                            \
  _Static_assert(offsetof(ours, member) == offsetof(theirs, original), #original);                              \
  _Static_assert(sizeof(((ours *)0)->member) == sizeof(((theirs *)0)->original), #original);

_Static_assert(sizeof(coffer_error) == sizeof(GError), "GError");
CHECK_MEMBER(coffer_error, GError, domain, domain)
CHECK_MEMBER(coffer_error, GError, code, code)
CHECK_MEMBER(coffer_error, GError, message, message)

_Static_assert(sizeof(coffer_type_query) == sizeof(GTypeQuery), "GTypeQuery");
CHECK_MEMBER(coffer_type_query, GTypeQuery, type, type)
CHECK_MEMBER(coffer_type_query, GTypeQuery, name, type_name)
CHECK_MEMBER(coffer_type_query, GTypeQuery, class_size, class_size)
CHECK_MEMBER(coffer_type_query, GTypeQuery, instance_size, instance_size)

_Static_assert(sizeof(coffer_object_class) <= sizeof(GObjectClass), "GObjectClass");
CHECK_MEMBER(coffer_object_class, GObjectClass, type, g_type_class)
CHECK_MEMBER(coffer_object_class, GObjectClass, constructor, constructor)

// Callbacks, and the types of objects and numbers that the functions above take.
static coffer_destroy check_destroy = (GDestroyNotify)0;
static coffer_signal_callback check_signal = (GDBusSignalCallback)0;
static coffer_reply_callback check_reply = (GAsyncReadyCallback)0;
static coffer_log_handler check_log = (GLogFunc)0;
static coffer_message_filter check_filter = (GDBusMessageFilterFunction)0;
_Static_assert(sizeof(gboolean) == sizeof(int) && sizeof(GType) == sizeof(size_t), "gboolean, GType");
