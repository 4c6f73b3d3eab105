/* CKVSQLite: the system's SQLite, loaded when it is first asked for, so that a
 * program that does not use it pays nothing. The functions' types come from
 * sqlite3.h itself. */
#ifndef CKVSQLITE_H
#define CKVSQLITE_H

#include <sqlite3.h>

#define CSQLITE_FUNCTIONS(F) \
  F(open_v2)                 \
  F(close_v2)                \
  F(exec)                    \
  F(prepare_v2)              \
  F(step)                    \
  F(reset)                   \
  F(clear_bindings)          \
  F(finalize)                \
  F(bind_text)               \
  F(bind_blob)               \
  F(bind_int64)              \
  F(column_text)             \
  F(column_blob)             \
  F(column_bytes)            \
  F(column_int64)            \
  F(column_type)             \
  F(errmsg)                  \
  F(extended_errcode)        \
  F(extended_result_codes)   \
  F(system_errno)            \
  F(db_config)               \
  F(file_control)            \
  F(libversion_number)

#define CSQLITE_FIELD(name) __typeof__(sqlite3_##name) *name;
typedef struct csqlite_functions {
  CSQLITE_FUNCTIONS(CSQLITE_FIELD)
} csqlite_functions;
#undef CSQLITE_FIELD

/* The library's functions, once loaded; NULL when it is not installed or lacks
 * one of them. Safe to call from several threads at once. */
const csqlite_functions *csqlite_load(void);

/* Whether closing the last connection leaves the journal as it is, rather than
 * writing it back and removing it. */
void csqlite_keep_journal(sqlite3 *database, int keeps);

#endif
