#pragma once
#include <dlfcn.h>
#include <postgresql/libpq-fe.h>

// libpq is loaded when the first location is parsed. A program that links this room may never need it, and with it come
// 20 libraries, for Kerberos, LDAP and TLS: a third of the start of a small command (docs/performance.md). All calls
// but the first, of coffer_pq_is_loaded, come after that.

static inline void *coffer_pq_library(void) {
  static void *library;
  void *found = __atomic_load_n(&library, __ATOMIC_ACQUIRE);
  // Two threads may both load it, which is one library to the loader (dlopen(3)).
  if (!found) __atomic_store_n(&library, found = dlopen("libpq.so.5", RTLD_NOW | RTLD_LOCAL), __ATOMIC_RELEASE);
  return found;
}

// Whether there is a libpq with all that is called here: below 14 it has no pipeline, and it need not use OpenSSL.
static inline int coffer_pq_is_loaded(void) {
  void *library = coffer_pq_library();
  return library && dlsym(library, "PQpipelineSync") && dlsym(library, "SSL_want");
}

// Defines `own`, which calls `function` of libpq, or of a library that libpq has loaded.
#define coffer_pq_forward(type, function, own, parameters, arguments)                 \
  static inline type own parameters {                                                 \
    static void *address;                                                             \
    void *found = __atomic_load_n(&address, __ATOMIC_RELAXED);                        \
    if (!found) {                                                                     \
      found = dlsym(coffer_pq_library(), #function);                                  \
      __atomic_store_n(&address, found, __ATOMIC_RELAXED);                            \
    }                                                                                 \
    return ((__typeof__(&function))found)arguments;                                   \
  }

coffer_pq_forward(int, PQbackendPID, pq_processID, (const PGconn *connection), (connection))
coffer_pq_forward(void, PQclear, pq_clear, (PGresult *result), (result))
coffer_pq_forward(char *, PQcmdStatus, pq_cmdStatus, (PGresult *result), (result))
coffer_pq_forward(char *, PQcmdTuples, pq_cmdTuples, (PGresult *result), (result))
coffer_pq_forward(PQconninfoOption *, PQconndefaults, pq_conndefaults, (void), ())
coffer_pq_forward(PostgresPollingStatusType, PQconnectPoll, pq_connectPoll, (PGconn *connection), (connection))
coffer_pq_forward(PGconn *, PQconnectStartParams, pq_connectStartParams,
                  (const char *const *keywords, const char *const *values, int expands),
                  (keywords, values, expands))
coffer_pq_forward(int, PQconnectionNeedsPassword, pq_connectionNeedsPassword, (const PGconn *connection), (connection))
coffer_pq_forward(void, PQconninfoFree, pq_conninfoFree, (PQconninfoOption *options), (options))
coffer_pq_forward(PQconninfoOption *, PQconninfoParse, pq_conninfoParse,
                  (const char *text, char **message),
                  (text, message))
coffer_pq_forward(int, PQconsumeInput, pq_consumeInput, (PGconn *connection), (connection))
coffer_pq_forward(int, PQenterPipelineMode, pq_enterPipelineMode, (PGconn *connection), (connection))
coffer_pq_forward(char *, PQerrorMessage, pq_errorMessage, (const PGconn *connection), (connection))
coffer_pq_forward(void, PQfinish, pq_finish, (PGconn *connection), (connection))
coffer_pq_forward(int, PQflush, pq_flush, (PGconn *connection), (connection))
coffer_pq_forward(void, PQfreemem, pq_freemem, (void *memory), (memory))
coffer_pq_forward(PGresult *, PQgetResult, pq_getResult, (PGconn *connection), (connection))
coffer_pq_forward(int, PQgetisnull, pq_getisnull, (const PGresult *result, int row, int column), (result, row, column))
coffer_pq_forward(int, PQgetlength, pq_getlength, (const PGresult *result, int row, int column), (result, row, column))
coffer_pq_forward(char *, PQgetvalue, pq_getvalue, (const PGresult *result, int row, int column), (result, row, column))
coffer_pq_forward(int, PQisBusy, pq_isBusy, (PGconn *connection), (connection))
coffer_pq_forward(int, PQnfields, pq_nfields, (const PGresult *result), (result))
coffer_pq_forward(PGnotify *, PQnotifies, pq_notifies, (PGconn *connection), (connection))
coffer_pq_forward(int, PQntuples, pq_ntuples, (const PGresult *result), (result))
coffer_pq_forward(char *, PQpass, pq_pass, (const PGconn *connection), (connection))
coffer_pq_forward(int, PQpipelineSync, pq_pipelineSync, (PGconn *connection), (connection))
coffer_pq_forward(char *, PQresultErrorField, pq_resultErrorField, (const PGresult *result, int field), (result, field))
coffer_pq_forward(size_t, PQresultMemorySize, pq_resultMemorySize, (const PGresult *result), (result))
coffer_pq_forward(ExecStatusType, PQresultStatus, pq_resultStatus, (const PGresult *result), (result))
coffer_pq_forward(int, PQsendPrepare, pq_sendPrepare,
                  (PGconn *connection, const char *statement, const char *query, int count, const Oid *types),
                  (connection, statement, query, count, types))
coffer_pq_forward(int, PQsendQueryParams, pq_sendQueryParams,
                  (PGconn *connection, const char *query, int count, const Oid *types, const char *const *values,
                   const int *sizes, const int *formats, int format),
                  (connection, query, count, types, values, sizes, formats, format))
coffer_pq_forward(int, PQsendQueryPrepared, pq_sendQueryPrepared,
                  (PGconn *connection, const char *statement, int count, const char *const *values, const int *sizes,
                   const int *formats, int format),
                  (connection, statement, count, values, sizes, formats, format))
coffer_pq_forward(int, PQserverVersion, pq_serverVersion, (const PGconn *connection), (connection))
coffer_pq_forward(PGVerbosity, PQsetErrorVerbosity, pq_setErrorVerbosity,
                  (PGconn *connection, PGVerbosity verbosity),
                  (connection, verbosity))
coffer_pq_forward(PQnoticeProcessor, PQsetNoticeProcessor, pq_setNoticeProcessor,
                  (PGconn *connection, PQnoticeProcessor body, void *context),
                  (connection, body, context))
coffer_pq_forward(PQnoticeReceiver, PQsetNoticeReceiver, pq_setNoticeReceiver,
                  (PGconn *connection, PQnoticeReceiver body, void *context),
                  (connection, body, context))
coffer_pq_forward(int, PQsetnonblocking, pq_setnonblocking, (PGconn *connection, int context), (connection, context))
coffer_pq_forward(int, PQsocket, pq_socket, (const PGconn *connection), (connection))
coffer_pq_forward(int, PQsslInUse, pq_sslInUse, (PGconn *connection), (connection))
coffer_pq_forward(ConnStatusType, PQstatus, pq_status, (const PGconn *connection), (connection))
