/* watching.c: watches on values and on events. */
#include "check.h"

static int changes = 0, events = 0;

static void changed(void *context, const kv_step *path, size_t steps,
                    const kv_tree *old_value, const kv_tree *new_value) {
  kv_cursor root = kv_tree_root(new_value);
  int64_t value = 0;
  changes++;
  CHECK(strcmp(context, "context") == 0);
  CHECK(steps == 1 && text_equals(path[0].key, "n"));
  CHECK(old_value == NULL);
  CHECK(kv_cursor_integer(&root, &value) == KV_OK && value == 2);
}

static void happened(void *context, kv_event event, kv_str message) {
  (void)context;
  (void)message;
  events += event > 0;
}

static void watches(void) {
  kv_store *store = memory_store();
  kv_watch *watch = NULL, *other = NULL;
  kv_step key = kv_key("n");
  kv_tree *one = parse("<plist><integer>1</integer></plist>");
  kv_tree *two = parse("<plist><integer>2</integer></plist>");
  size_t calls = 9;
  int descriptor = -1;
  CHECK(kv_store_watch(store, &key, 1, KV_SCOPE_VALUE, changed,
                       (void *)"context", &watch, NULL) == KV_OK);
  CHECK(kv_store_watch_events(store, happened, NULL, &other, NULL) == KV_OK);
  CHECK(kv_store_watch_descriptor(store, &descriptor, NULL) == KV_OK);
  CHECK(descriptor >= 0);
  CHECK(kv_store_pump(store, &calls, NULL) == KV_OK && calls == 0);
  kv_store_set(store, &key, 1, one, NULL, 0, NULL, NULL);
  kv_store_set(store, &key, 1, two, NULL, 0, NULL, NULL);
  CHECK(kv_store_pump(store, &calls, NULL) == KV_OK && calls == 1);
  CHECK(changes == 1 && events == 0);
  kv_watch_cancel(watch);
  kv_watch_cancel(other);
  kv_watch_cancel(NULL);
  kv_store_set(store, &key, 1, one, NULL, 0, NULL, NULL);
  CHECK(kv_store_pump(store, &calls, NULL) == KV_OK && calls == 0);
  CHECK(kv_store_watch(store, &key, 1, KV_SCOPE_VALUE, NULL, NULL, &watch,
                       NULL) == KV_INVALID_ARGUMENT);
  CHECK(kv_store_watch(store, &key, 1, (kv_scope)9, changed, NULL, &watch,
                       NULL) == KV_INVALID_ARGUMENT);
  CHECK(kv_store_watch(store, &key, 1, KV_SCOPE_VALUE, changed, NULL, NULL,
                       NULL) == KV_INVALID_ARGUMENT);
  kv_tree_free(one);
  kv_tree_free(two);
  kv_store_free(store);
}

int main(void) {
  watches();
  return finish_checks();
}
