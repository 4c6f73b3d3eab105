/* writers.c: how long a durable set waits where 40 processes write one store.
 * Prints a row for each engine (report.py): the longest of 99 in 100 sets. */
#define _GNU_SOURCE
#include <kvcodable.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WRITERS = 40, SETS = 50 };

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static int ascending(const void *one, const void *other) {
  double a = *(const double *)one, b = *(const double *)other;
  return (a > b) - (a < b);
}

static void fail(const char *what, kv_error *error) {
  fprintf(stderr, "%s: %s\n", what, kv_error_message(error).data);
  _exit(1);
}

/* Sets a key of its own, again and again, and says of each how long it took. */
static void write_store(kv_str path, int writer, int results) {
  kv_store_options options = {.size = sizeof options, .timeout = 60};
  kv_store *store = NULL;
  kv_error *error = NULL;
  char name[16];
  options.durability = KV_IMMEDIATE;
  snprintf(name, sizeof name, "writer%d", writer);
  kv_step key = kv_key(name);
  if (kv_store_open_file(path, &options, &store, &error) != KV_OK)
    fail("open", error);
  for (int i = 1; i <= SETS; i++) {
    double start = now();
    if (kv_store_set_integer(store, &key, 1, i, &error) != KV_OK)
      fail("set", error);
    double took = now() - start;
    if (write(results, &took, sizeof took) != sizeof took) _exit(1);
  }
  kv_store_free(store);
  _exit(0);
}

/* Every acknowledged set is there. */
static int is_whole(kv_str path) {
  kv_store *store = NULL;
  int good = kv_store_open_file(path, NULL, &store, NULL) == KV_OK;
  for (int i = 0; i < WRITERS && good; i++) {
    char name[16];
    int64_t value = 0;
    snprintf(name, sizeof name, "writer%d", i);
    kv_step key = kv_key(name);
    good = kv_store_get_integer(store, &key, 1, &value, NULL) == KV_OK &&
           value == SETS;
  }
  kv_store_free(store);
  return good;
}

static int measure(const char *folder, const char *file, const char *name) {
  static double took[WRITERS * SETS];
  char path[300];
  int results[2], count = 0, status, good = 1;
  snprintf(path, sizeof path, "%s/%s", folder, file);
  if (pipe(results) != 0) return 0;
  for (int i = 0; i < WRITERS; i++)
    if (fork() == 0) write_store(kv_string(path), i, results[1]);
  close(results[1]);
  while (count < WRITERS * SETS &&
         read(results[0], &took[count], sizeof *took) == sizeof *took)
    count++;
  close(results[0]);
  while (wait(&status) > 0) good = good && status == 0;
  if (!good || count != WRITERS * SETS || !is_whole(kv_string(path))) return 0;
  qsort(took, (size_t)count, sizeof *took, ascending);
  printf(
      "%s, %d writers: half of the sets within %.1f ms, all within %.0f ms\n",
      name, WRITERS, took[count / 2] * 1e3, took[count - 1] * 1e3);
  printf("row\t%s, durable set, %d writers, 99 of 100\tms\t%.1f\n", name,
         WRITERS, took[count * 99 / 100] * 1e3);
  return 1;
}

int main(int count, char **arguments) {
  if (count != 2) return 2;
  return measure(arguments[1], "writers.plist", "plist") &&
                 measure(arguments[1], "writers.sqlite", "SQLite")
             ? 0
             : 1;
}
