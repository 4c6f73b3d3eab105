/* names.c: stores in folders of their own, and their names. */
#define _XOPEN_SOURCE 700
#include "check.h"

#include <sys/stat.h>

static int is_names(kv_engine engine, const char *json) {
  kv_tree *names = NULL, *expected = parse(json);
  int good = kv_store_names(engine, &names, NULL) == KV_OK &&
             kv_tree_equal(names, expected);
  kv_tree_free(names);
  kv_tree_free(expected);
  return good;
}

static int mode_of(const char *name) {
  struct stat status;
  return stat(in_folder(name), &status) ? -1 : (int)(status.st_mode & 07777);
}

static void set_one(const char *name, kv_engine engine) {
  kv_store_options options = store_options(engine);
  kv_step key = kv_key("x");
  kv_store *store = NULL;
  CHECK(kv_store_open(kv_string(name), &options, &store, NULL) == KV_OK);
  CHECK(kv_store_set_integer(store, &key, 1, 1, NULL) == KV_OK);
  CHECK(kv_store_sync(store, NULL) == KV_OK);
  kv_store_free(store);
}

/* proves: G51 */
static void folders(void) {
  umask(0);
  CHECK(is_names(KV_ENGINE_AUTOMATIC, "[]"));
  set_one("org.example.app", KV_ENGINE_AUTOMATIC);
  set_one("acme/settings", KV_ENGINE_AUTOMATIC);
  set_one("acme/deep/more", KV_ENGINE_PROPERTY_LIST);
  set_one("acme/base", KV_ENGINE_SQLITE);
  CHECK(mode_of("acme") == 0700 && mode_of("acme/deep") == 0700);
  CHECK(mode_of("acme/settings.plist") == 0600);
  /* Not those of others, of no name, and in folders that are no one's. */
  write_file(in_folder(".hidden.plist"), "{}");
  write_file(in_folder("acme/.plist"), "{}");
  write_file(in_folder("acme/notes.txt"), "{}");
  CHECK(mkdir(in_folder("acme/.git"), 0700) == 0);
  write_file(in_folder("acme/.git/x.plist"), "{}");
  CHECK(symlink(folder, in_folder("acme/loop")) == 0);
  CHECK(
      is_names(KV_ENGINE_AUTOMATIC,
               "[\"acme/deep/more\", \"acme/settings\", \"org.example.app\"]"));
  CHECK(is_names(KV_ENGINE_SQLITE, "[\"acme/base\"]"));
  CHECK(is_names(KV_ENGINE_MEMORY, "[]"));
}

static void paths(void) {
  static const char *const wrong[] = {"",
                                      "/a",
                                      "a/",
                                      "a//b",
                                      "../a",
                                      "a/..",
                                      ".a",
                                      "a/.b",
                                      "a..b",
                                      "a/b..c",
                                      "a/b/c/d/e/f/g/h/i"};
  kv_bytes path = {NULL, 0};
  kv_error *error = NULL;
  kv_store *store = NULL;
  CHECK(kv_store_path(kv_string("acme/settings"), KV_ENGINE_AUTOMATIC, &path,
                      NULL) == KV_OK);
  CHECK(!strcmp(path.data, in_folder("acme/settings.plist")));
  kv_bytes_free(&path);
  CHECK(kv_store_path(kv_string("a"), KV_ENGINE_SQLITE, &path, NULL) == KV_OK);
  CHECK(!strcmp(path.data, in_folder("a.sqlite")));
  kv_bytes_free(&path);
  CHECK(kv_store_path(kv_string("a"), KV_ENGINE_MEMORY, &path, NULL) ==
        KV_ABSENT);
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    CHECK_NAMED(kv_store_path(kv_string(wrong[i]), KV_ENGINE_AUTOMATIC, &path,
                              NULL) == KV_INVALID_NAME &&
                    kv_store_open(kv_string(wrong[i]), NULL, &store, NULL) ==
                        KV_INVALID_NAME,
                wrong[i]);
  }
  CHECK(kv_store_open(kv_string("a/../b"), NULL, &store, &error) ==
        KV_INVALID_NAME);
  CHECK(
      error_says(error, KV_INVALID_NAME,
                 "Expected a name like com.acme.app or acme/settings, without "
                 "\"..\" and a \".\" at a part's beginning, found "
                 "\"a/../b\""));
}

/* A suite has a name of that kind, too. */
static void suites(void) {
  kv_store_options options = store_options(KV_ENGINE_AUTOMATIC);
  kv_str suite = kv_string("acme/settings");
  kv_step key = kv_key("x");
  kv_store *store = NULL;
  int64_t one = 0;
  options.suites = &suite;
  options.suite_count = 1;
  CHECK(kv_store_open(kv_string("other"), &options, &store, NULL) == KV_OK);
  CHECK(kv_store_get_integer(store, &key, 1, &one, NULL) == KV_OK && one == 1);
  kv_store_free(store);
}

int main(void) {
  make_folder();
  setenv("XDG_CONFIG_HOME", folder, 1);
  folders();
  paths();
  suites();
  remove_folder();
  return finish_checks();
}
