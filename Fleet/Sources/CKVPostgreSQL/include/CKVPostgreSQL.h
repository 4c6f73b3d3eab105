/* CKVPostgreSQL: the system's libpq, loaded at first use, so that the package is
 * built without it. The declarations are ours. They follow the documented
 * interface of libpq 14 and later. */
#ifndef CKVPOSTGRESQL_H
#define CKVPOSTGRESQL_H

#include <stddef.h>
#include <stdint.h>

typedef struct cpq_connection cpq_connection;
typedef struct cpq_result cpq_result;

/* An option of a connection's text. */
typedef struct cpq_option {
  char *keyword;
  char *environment;
  char *compiled;
  char *value; /* NULL if it is not given */
  char *label;
  char *display;
  int display_size;
} cpq_option;

/* A notification; its payload follows in the same memory. */
typedef struct cpq_notification {
  char *channel;
  int process;
  char *payload;
  struct cpq_notification *next;
} cpq_notification;

typedef void (*cpq_receiver)(void *context, const cpq_result *result);

/* Values of libpq's enumerations. */
enum { CPQ_CONNECTION_OK = 0, CPQ_CONNECTION_BAD = 1 };
enum {
  CPQ_POLLING_FAILED = 0,
  CPQ_POLLING_READING = 1,
  CPQ_POLLING_WRITING = 2,
  CPQ_POLLING_OK = 3
};
enum {
  CPQ_COMMAND_OK = 1,
  CPQ_TUPLES_OK = 2,
  CPQ_PIPELINE_SYNC = 10,
  CPQ_PIPELINE_ABORTED = 11
};
enum { CPQ_ERRORS_VERBOSE = 2 };
enum { CPQ_CODE = 'C', CPQ_PRIMARY = 'M', CPQ_SEVERITY = 'V' };

#define CPQ_FUNCTIONS(F)                                                       \
  F(cpq_option *, conninfoParse, (const char *text, char **error))             \
  F(cpq_option *, conndefaults, (void))                                        \
  F(cpq_option *, conninfo, (cpq_connection *))                                \
  F(void, conninfoFree, (cpq_option *))                                        \
  F(void, freemem, (void *))                                                   \
  F(cpq_connection *, connectStartParams,                                      \
    (const char *const *names, const char *const *values, int expands))        \
  F(int, connectPoll, (cpq_connection *))                                      \
  F(int, status, (const cpq_connection *))                                     \
  F(int, socket, (const cpq_connection *))                                     \
  F(char *, host, (const cpq_connection *))                                    \
  F(char *, port, (const cpq_connection *))                                    \
  F(int, backendPID, (const cpq_connection *))                                 \
  F(void, finish, (cpq_connection *))                                          \
  F(char *, errorMessage, (const cpq_connection *))                            \
  F(int, setErrorVerbosity, (cpq_connection *, int))                           \
  F(cpq_receiver, setNoticeReceiver, (cpq_connection *, cpq_receiver, void *)) \
  F(int, setnonblocking, (cpq_connection *, int))                              \
  F(int, enterPipelineMode, (cpq_connection *))                                \
  F(int, exitPipelineMode, (cpq_connection *))                                 \
  F(int, pipelineSync, (cpq_connection *))                                     \
  F(int, sendQuery, (cpq_connection *, const char *text))                      \
  F(int, sendQueryParams,                                                      \
    (cpq_connection *, const char *text, int count, const unsigned *types,     \
     const uint8_t *const *values, const int *lengths, const int *formats,     \
     int result_format))                                                       \
  F(int, sendPrepare,                                                          \
    (cpq_connection *, const char *name, const char *text, int count,          \
     const unsigned *types))                                                   \
  F(int, sendQueryPrepared,                                                    \
    (cpq_connection *, const char *name, int count,                            \
     const uint8_t *const *values, const int *lengths, const int *formats,     \
     int result_format))                                                       \
  F(int, flush, (cpq_connection *))                                            \
  F(int, consumeInput, (cpq_connection *))                                     \
  F(int, isBusy, (cpq_connection *))                                           \
  F(cpq_notification *, notifies, (cpq_connection *))                          \
  F(cpq_result *, getResult, (cpq_connection *))                               \
  F(int, resultStatus, (const cpq_result *))                                   \
  F(char *, resultErrorField, (const cpq_result *, int field))                 \
  F(int, ntuples, (const cpq_result *))                                        \
  F(int, nfields, (const cpq_result *))                                        \
  F(uint8_t *, getvalue, (const cpq_result *, int row, int column))            \
  F(int, getlength, (const cpq_result *, int row, int column))                 \
  F(int, getisnull, (const cpq_result *, int row, int column))                 \
  F(void, clear, (cpq_result *))

#define CPQ_FIELD(type, name, parameters) type(*name) parameters;
typedef struct cpq_functions {
  CPQ_FUNCTIONS(CPQ_FIELD)
} cpq_functions;
#undef CPQ_FIELD

/* Loads the library at the first call and returns its functions. NULL if the
 * library is not installed or lacks a function, as before version 14. Safe to
 * call from several threads at once. */
const cpq_functions *cpq_load(void);

/* Whether a library was found that lacks one of the functions. */
int cpq_is_outdated(void);

/* Stops libpq from printing notices, and sets `warned` to 1 when a warning
 * comes. `warned` must live as long as the connection. */
void cpq_note_warnings(cpq_connection *connection, int32_t *warned);

/* Waits until the descriptor can be read, or written if `writes` is not 0, at
 * most for so many nanoseconds. Returns 0 if the time is over or a signal
 * came, otherwise 1. */
int cpq_wait(int descriptor, int writes, int64_t nanoseconds);

#endif
