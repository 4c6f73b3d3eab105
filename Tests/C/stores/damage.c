/* damage.c: a store with a damaged file, with each of the options. */
#define _DEFAULT_SOURCE
#define _XOPEN_SOURCE 700
#include <stddef.h>
#include <time.h>
#include <utime.h>

#include "check.h"

static const char *const typo =
    "<plist>\n<dict>\n<key>a</kye>\n</dict></plist>";

/* A file as another program wrote it some minutes ago. */
static void put(const char *name, const char *text, int minutes) {
  struct utimbuf times;
  times.actime = times.modtime = time(NULL) - 60 * minutes;
  write_file(in_folder(name), text);
  CHECK(utime(in_folder(name), &times) == 0);
}

static int is_there(const char *name) {
  return access(in_folder(name), F_OK) == 0;
}

static int happened[16];
static char said[512];

static void note(void *context, kv_event event, kv_str message) {
  (void)context;
  happened[event]++;
  snprintf(said, sizeof said, "%.*s", (int)message.length, message.data);
}

/* Whether the text is the expected one with the path behind it. */
static int says(const char *text, const char *name, const char *expected) {
  char whole[512];
  snprintf(whole, sizeof whole, "%s (%s)", expected, in_folder(name));
  if (strcmp(text, whole)) printf("# %s\n", text);
  return strcmp(text, whole) == 0;
}

static kv_status opened(const char *name, kv_corruption corruption,
                        kv_store **store, kv_error **error) {
  kv_store_options options = store_options(KV_ENGINE_AUTOMATIC);
  options.on_corruption = corruption;
  return kv_store_open_file(kv_string(in_folder(name)), &options, store, error);
}

static void opening(void) {
  kv_error *error = NULL;
  kv_store_options options = store_options(KV_ENGINE_AUTOMATIC);
  put("a.plist", typo, 3);
  put("a.plist.bak", "{\"a\": 1}", 5);
  CHECK(opened("a.plist", KV_CORRUPTION_ERROR, NULL, &error) == KV_CORRUPT);
  CHECK(says(kv_error_message(error).data, "a.plist",
             "Expected </key>, found </kye> (line 3, column 7)"));
  int64_t line = 0, column = 0;
  CHECK(kv_error_position(error, &line, &column) == KV_OK);
  CHECK(line == 3 && column == 7);
  CHECK(text_equals(kv_error_file(error), in_folder("a.plist")));
  kv_error *confined = kv_error_confined(error, NULL, 0);
  CHECK(kv_error_file(confined).length == 0);
  CHECK(kv_error_position(confined, NULL, NULL) == KV_OK);
  kv_error_free(confined);
  CHECK(kv_error_file(NULL).length == 0);
  kv_error_free(error);
  CHECK(!is_there(".a.plist.lock"));
  /* A program that was built before there was the option. */
  options.size = offsetof(kv_store_options, on_corruption);
  options.on_corruption = KV_CORRUPTION_RECOVER;
  CHECK(kv_store_open_file(kv_string(in_folder("a.plist")), &options, NULL,
                           NULL) == KV_CORRUPT);
  CHECK(opened("a.plist", (kv_corruption)7, NULL, NULL) == KV_INVALID_ARGUMENT);
  put("a.sqlite", "no database, and longer than the header of one needs", 3);
  CHECK(opened("a.sqlite", KV_CORRUPTION_ERROR, NULL, NULL) == KV_CORRUPT);
}

/* A file that a program may be writing in place: damaged once it has not been
 * written for as long as the handle says. */
/* proves: G25 */
static void settling(void) {
  kv_store_options options = store_options(KV_ENGINE_AUTOMATIC);
  kv_str file = kv_string(in_folder("s.plist"));
  put("s.plist", typo, 5);
  options.timeout = 0.02;
  CHECK(kv_store_open_file(file, &options, NULL, NULL) == KV_CORRUPT);
  options.settle_time = 3600;
  CHECK(kv_store_open_file(file, &options, NULL, NULL) == KV_TIMED_OUT);
  options.size = offsetof(kv_store_options, settle_time);
  CHECK(kv_store_open_file(file, &options, NULL, NULL) == KV_CORRUPT);
  options.size = sizeof options;
  options.settle_time = -1;
  CHECK(kv_store_open_file(file, &options, NULL, NULL) == KV_INVALID_ARGUMENT);
}

static void recovering(void) {
  kv_store *store = NULL;
  kv_watch *watch = NULL;
  kv_step key = kv_key("a");
  int64_t number = 0;
  memset(happened, 0, sizeof happened);
  CHECK(opened("a.plist", KV_CORRUPTION_RECOVER, &store, NULL) == KV_OK);
  CHECK(kv_store_get_integer(store, &key, 1, &number, NULL) == KV_OK);
  CHECK(number == 1);
  CHECK(kv_store_watch_events(store, note, NULL, &watch, NULL) == KV_OK);
  CHECK(kv_store_pump(store, NULL, NULL) == KV_OK);
  CHECK(happened[KV_EVENT_RECOVERED] == 1);
  CHECK(strstr(said, "a.plist was damaged: it is kept as ") &&
        strstr(said, "a.plist.corrupt-") && strstr(said, ", the backup of 30"));
  kv_watch_cancel(watch);
  kv_store_free(store);
  CHECK(opened("a.sqlite", KV_CORRUPTION_RECOVER, &store, NULL) == KV_CORRUPT);
}

/* proves: G30 */
static void running(void) {
  kv_store *store = NULL;
  kv_watch *watch = NULL;
  kv_transaction *transaction = NULL;
  kv_step key = kv_key("a"), other = kv_key("b");
  int64_t number = 0;
  memset(happened, 0, sizeof happened);
  CHECK(opened("b.plist", KV_CORRUPTION_ERROR, &store, NULL) == KV_OK);
  CHECK(kv_store_set_integer(store, &key, 1, 1, NULL) == KV_OK);
  CHECK(kv_store_sync(store, NULL) == KV_OK);
  CHECK(kv_store_watch_events(store, note, NULL, &watch, NULL) == KV_OK);
  put("b.plist", typo, 3);
  CHECK(kv_store_set_integer(store, &other, 1, 2, NULL) == KV_OK);
  CHECK(kv_store_sync(store, NULL) == KV_CORRUPT);
  CHECK(kv_store_begin(store, 1, &transaction, NULL) == KV_CORRUPT);
  CHECK(kv_store_get_integer(store, &key, 1, &number, NULL) == KV_OK);
  CHECK(number == 1);
  CHECK(kv_store_pump(store, NULL, NULL) == KV_OK);
  CHECK(kv_store_pump(store, NULL, NULL) == KV_OK);
  CHECK(happened[KV_EVENT_UNREADABLE] == 1);
  CHECK(says(said, "b.plist",
             "Expected </key>, found </kye> (line 3, column 7)"));
  put("b.plist", "{\"a\": 5}", 2);
  CHECK(kv_store_sync(store, NULL) == KV_OK);
  CHECK(kv_store_get_integer(store, &key, 1, &number, NULL) == KV_OK);
  CHECK(number == 5);
  CHECK(kv_store_get_integer(store, &other, 1, &number, NULL) == KV_OK);
  CHECK(number == 2);
  kv_watch_cancel(watch);
  kv_store_free(store);
}

int main(void) {
  make_folder();
  opening();
  settling();
  recovering();
  running();
  remove_folder();
  return finish_checks();
}
