/* reads.c: what reading and setting a value cost in C, beside GKeyFile with the
 * same values. Prints a row for each, the median of rounds (report.py). */
#define _POSIX_C_SOURCE 200809L
#include <glib.h>
#include <kvcodable.h>
#include <kvcodable_nodes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { rounds = 15, calls = 200000, fields = 10 };

static kv_store *store;
static kv_tree *snapshot;
static GKeyFile *key_file;
static volatile int64_t sink;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static int compare(const void *left, const void *right) {
  double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

/* Nanoseconds for one of the calls that `body` makes. */
static double median(void (*body)(void)) {
  double times[rounds];
  for (int round = 0; round < rounds; round++) {
    double start = now();
    body();
    times[round] = (now() - start) / calls;
  }
  qsort(times, rounds, sizeof *times, compare);
  return times[rounds / 2];
}

static void get_scalar(void) {
  kv_step key = kv_key("scalar");
  for (int i = 0; i < calls; i++) {
    int64_t value = 0;
    kv_store_get_integer(store, &key, 1, &value, NULL);
    sink += value;
  }
}

static void get_scalar_from_key_file(void) {
  for (int i = 0; i < calls; i++)
    sink += g_key_file_get_int64(key_file, "group", "scalar", NULL);
}

static void set_scalar(void) {
  kv_step key = kv_key("changing");
  for (int i = 0; i < calls; i++) kv_store_set_integer(store, &key, 1, i, NULL);
}

static void set_scalar_in_key_file(void) {
  for (int i = 0; i < calls; i++)
    g_key_file_set_int64(key_file, "group", "changing", i);
}

static void set_string(void) {
  kv_step key = kv_key("text");
  for (int i = 0; i < calls; i++)
    kv_store_set_string(store, &key, 1, kv_string("a short text"), NULL);
}

static void set_string_in_key_file(void) {
  for (int i = 0; i < calls; i++)
    g_key_file_set_string(key_file, "group", "text", "a short text");
}

/* The dictionary, borrowed: a cursor to it and to one of its fields. */
static void get_dictionary(void) {
  kv_cursor root = kv_tree_root(snapshot);
  for (int i = 0; i < calls; i++) {
    kv_cursor record;
    kv_cursor_key(&root, kv_string("record"), &record);
    sink += (int64_t)kv_cursor_count(&record);
  }
}

static void get_view(void) {
  kv_step key = kv_key("record");
  for (int i = 0; i < calls; i++) {
    kv_view view;
    kv_lease *lease = NULL;
    kv_store_get_view(store, &key, 1, NULL, &view, &lease, NULL);
    sink += view.node->count;
    kv_lease_free(lease);
  }
}

static int fill(void) {
  static const char text[] =
      "{\"scalar\": 42, \"record\": {\"a\": 1, \"b\": \"two\", \"c\": 3.5, "
      "\"d\": true, \"e\": \"five\", \"f\": 6, \"g\": \"seven\", \"h\": 8.5, "
      "\"i\": false, \"j\": \"ten\"}}";
  kv_store_options options;
  memset(&options, 0, sizeof options);
  options.size = sizeof options;
  options.engine = KV_ENGINE_MEMORY;
  key_file = g_key_file_new();
  g_key_file_set_int64(key_file, "group", "scalar", 42);
  return kv_store_open_file(kv_string("a"), &options, &store, NULL) == KV_OK &&
         kv_store_import(store, kv_string(text), NULL, NULL) == KV_OK &&
         kv_store_snapshot(store, &snapshot, NULL) == KV_OK;
}

/* Checks that all ways give the same, before they are timed. */
static int agree(void) {
  kv_step key = kv_key("scalar");
  kv_cursor root = kv_tree_root(snapshot), record;
  int64_t value = 0;
  return kv_store_get_integer(store, &key, 1, &value, NULL) == KV_OK &&
         value == g_key_file_get_int64(key_file, "group", "scalar", NULL) &&
         kv_cursor_key(&root, kv_string("record"), &record) == KV_OK &&
         kv_cursor_count(&record) == fields;
}

/* Checks that a value that was set is there, both ways. */
static int sets_agree(void) {
  kv_step key = kv_key("changing"), text = kv_key("text");
  int64_t value = 0;
  kv_bytes found = {NULL, 0};
  set_scalar();
  set_scalar_in_key_file();
  set_string();
  set_string_in_key_file();
  char *peer = g_key_file_get_string(key_file, "group", "text", NULL);
  int good =
      kv_store_get_integer(store, &key, 1, &value, NULL) == KV_OK &&
      value == calls - 1 &&
      value == g_key_file_get_int64(key_file, "group", "changing", NULL) &&
      kv_store_get_string(store, &text, 1, &found, NULL) == KV_OK && peer &&
      strcmp(found.data, peer) == 0;
  kv_bytes_free(&found);
  g_free(peer);
  return good;
}

int main(void) {
  if (!fill() || !agree() || !sets_agree()) return 1;
  printf("row\tC get of a scalar\tns\t%.1f\tGKeyFile=%.1f\n",
         median(get_scalar), median(get_scalar_from_key_file));
  printf("row\tC set of a scalar\tns\t%.1f\tGKeyFile=%.1f\n",
         median(set_scalar), median(set_scalar_in_key_file));
  printf("row\tC set of a string\tns\t%.1f\tGKeyFile=%.1f\n",
         median(set_string), median(set_string_in_key_file));
  printf("row\tC get of a 10-field dictionary\tns\t%.1f\n",
         median(get_dictionary));
  printf("row\tC get of a 10-field dictionary, by itself\tns\t%.1f\n",
         median(get_view));
  kv_tree_free(snapshot);
  kv_store_free(store);
  g_key_file_free(key_file);
  return 0;
}
