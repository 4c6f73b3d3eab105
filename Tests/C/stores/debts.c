/* debts.c: a file that was replaced, but whose folder could not be written to the
 * disk, is written anew by the next sync: a later fsync of the folder may say
 * that all is well of what was lost. */
#define _XOPEN_SOURCE 700
#define _DEFAULT_SOURCE
#include "check.h"
#include "folders.h"

static ino_t file_number(const char *path) {
  struct stat status;
  return stat(path, &status) == 0 ? status.st_ino : 0;
}

/* proves: G39 */
static void check_debt(const char *name, kv_durability durability) {
  char path[400];
  kv_store_options options = {.size = sizeof options};
  kv_store *store = NULL;
  kv_step key = kv_key("a");
  int64_t value = 0;
  options.durability = durability;
  snprintf(path, sizeof path, "%s", in_folder(name));
  CHECK(kv_store_open_file(kv_string(path), &options, &store, NULL) == KV_OK);
  CHECK(kv_store_set_integer(store, &key, 1, 1, NULL) == KV_OK);
  CHECK(kv_store_sync(store, NULL) == KV_OK);
  loses_folders = 1;
  kv_status status = kv_store_set_integer(store, &key, 1, 2, NULL);
  if (durability == KV_MANUAL && status == KV_OK)
    status = kv_store_sync(store, NULL);
  CHECK_NAMED(status == KV_OUTCOME_UNKNOWN, "the caller hears of it");
  CHECK(kv_store_get_integer(store, &key, 1, &value, NULL) == KV_OK &&
        value == 2);
  CHECK_NAMED(kv_store_sync(store, NULL) == KV_OUTCOME_UNKNOWN,
              "and hears of it as long as it lasts");
  ino_t before = file_number(path);
  loses_folders = 0;
  CHECK(kv_store_sync(store, NULL) == KV_OK);
  ino_t after = file_number(path);
  CHECK_NAMED(before != 0 && after != 0 && after != before,
              "the file is written anew");
  CHECK(kv_store_sync(store, NULL) == KV_OK);
  CHECK_NAMED(file_number(path) == after, "once");
  kv_store_free(store);
}

int main(void) {
  make_folder();
  check_debt("manual.plist", KV_MANUAL);
  check_debt("immediate.plist", KV_IMMEDIATE);
  remove_folder();
  return finish_checks();
}
