/* check.h: what the C tests share. Each check prints a line of TAP. */
#ifndef CHECK_H
#define CHECK_H

#include "kvcodable.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int checks = 0, failures = 0;

static void report(int good, const char *what, const char *file, int line) {
  checks++;
  if (!good) failures++;
  printf("%sok %d - %s", good ? "" : "not ", checks, what);
  if (!good) printf(" (%s:%d)", file, line);
  printf("\n");
}

#define CHECK(condition) report(!!(condition), #condition, __FILE__, __LINE__)
#define CHECK_NAMED(condition, name) \
  report(!!(condition), name, __FILE__, __LINE__)

static inline int finish_checks(void) {
  printf("1..%d\n", checks);
  return failures ? 1 : 0;
}

static inline int text_equals(kv_str text, const char *expected) {
  return text.length == strlen(expected) &&
         memcmp(text.data, expected, text.length) == 0;
}

/* Whether `error` has this status and says this; frees it. */
static inline int error_says(kv_error *error, kv_status status,
                             const char *message) {
  int good = kv_error_status(error) == status &&
             text_equals(kv_error_message(error), message);
  if (!good)
    printf("# %d: %s\n", (int)kv_error_status(error),
           error ? kv_error_message(error).data : "no error");
  kv_error_free(error);
  return good;
}

/* The number of steps of an error's path. */
static inline size_t path_length(const kv_error *error) {
  size_t steps = 0;
  while (kv_error_path_step(error, steps, NULL) == KV_OK) steps++;
  return steps;
}

/* ---- What most tests begin with */

/* A tree from text in any format. */
static inline kv_tree *parse(const char *text) {
  kv_tree *tree = NULL;
  kv_status status = kv_decode(kv_string(text), NULL, NULL, &tree, NULL, NULL);
  if (status != KV_OK) CHECK_NAMED(0, text);
  return tree;
}

static inline kv_tree *integer_tree(int64_t value) {
  kv_tree *tree = NULL;
  kv_builder *builder = kv_builder_new();
  kv_builder_integer(builder, value, NULL);
  kv_builder_finish(builder, &tree, NULL);
  kv_builder_free(builder);
  return tree;
}

static inline kv_store_options store_options(kv_engine engine) {
  kv_store_options options;
  memset(&options, 0, sizeof options);
  options.size = sizeof options;
  options.engine = engine;
  return options;
}

static inline kv_store *memory_store(void) {
  kv_store_options options = store_options(KV_ENGINE_MEMORY);
  kv_store *store = NULL;
  CHECK(kv_store_open_file(kv_string("none.plist"), &options, &store, NULL) ==
        KV_OK);
  return store;
}

/* A store in memory with what JSON says. */
static inline kv_store *new_store(const char *json) {
  kv_store *store = memory_store();
  CHECK(kv_store_import(store, kv_string(json), NULL, NULL) == KV_OK);
  return store;
}

/* ---- A folder of the test's own, for programs with _XOPEN_SOURCE 700 */

#ifdef _XOPEN_SOURCE
static char folder[] = "/tmp/kvcodable-XXXXXX";

static inline void make_folder(void) { CHECK(mkdtemp(folder) != NULL); }

/* The path of a file in the folder; good until the next call but three. */
static inline const char *in_folder(const char *name) {
  static char paths[4][300];
  static int turn = 0;
  char *path = paths[turn++ % 4];
  snprintf(path, sizeof paths[0], "%s/%s", folder, name);
  return path;
}

static inline void write_file(const char *path, const char *text) {
  FILE *file = fopen(path, "wb");
  CHECK(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

static inline int remove_one(const char *path, const struct stat *status,
                             int kind, struct FTW *place) {
  (void)status, (void)kind, (void)place;
  /* SQLite takes its own files away when the last connection closes, which may
   * be that of the thread that writes. */
  if (remove(path) == 0 || errno == ENOENT) return 0;
  printf("# %s: %s\n", path, strerror(errno));
  return 1;
}

static inline void remove_folder(void) {
  CHECK(nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS) == 0);
}
#endif

#endif
