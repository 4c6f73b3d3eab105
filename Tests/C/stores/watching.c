/* watching.c: watches on values and on events. */
#define _XOPEN_SOURCE 700
#include <math.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>

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

static void count_change(void *context, const kv_step *path, size_t steps,
                         const kv_tree *old_value, const kv_tree *new_value) {
  (void)path, (void)steps, (void)old_value, (void)new_value;
  ++*(int *)context;
}

static void note_path(void *text, const kv_step *path, size_t steps,
                      const kv_tree *old_value, const kv_tree *new_value) {
  (void)old_value, (void)new_value;
  for (size_t i = 0; i < steps; i++) {
    strncat(text, path[i].key.data ? path[i].key.data : "#",
            path[i].key.data ? path[i].key.length : 1);
    strcat(text, i + 1 < steps ? "." : ";");
  }
}

/* A subtree is told path by path, down to values that are no dictionary. */
static void subtrees(void) {
  char told[100] = "";
  kv_store *store = memory_store();
  kv_watch *watch = NULL;
  kv_step ui = kv_key("ui");
  kv_step element[] = {ui, kv_key("panes"), kv_index(0), kv_key("width")};
  kv_step deep[] = {ui, kv_key("a"), kv_key("b")};
  kv_tree *value = parse("{\"panes\": [{\"width\": 1}], \"a\": {\"b\": 1}}");
  kv_store_set(store, &ui, 1, value, NULL, 0, NULL, NULL);
  CHECK(kv_store_watch(store, &ui, 1, KV_SCOPE_SUBTREE, note_path, told, &watch,
                       NULL) == KV_OK);
  kv_store_set_integer(store, element, 4, 2, NULL);
  kv_store_set_integer(store, deep, 3, 2, NULL);
  CHECK(kv_store_pump(store, NULL, NULL) == KV_OK);
  CHECK(!strcmp(told, "ui.a.b;ui.panes;"));
  printf("# %s\n", told);
  kv_watch_cancel(watch);
  kv_tree_free(value);
  kv_store_free(store);
}

static volatile sig_atomic_t signals = 0;

static void note_signal(int number) {
  (void)number;
  signals++;
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* Has a child process set the key, a while from now; gives its number. */
static pid_t set_beside(const char *path, int64_t value) {
  // The child has no copy of the stack of a thread at work: what that thread
  // holds would be a leak to valgrind.
  struct timespec idle = {0, 500000000};
  nanosleep(&idle, NULL);
  pid_t child = fork();
  if (child != 0) return child;
  struct timespec while_ago = {0, 50000000};
  kv_store_options options = store_options(KV_ENGINE_PROPERTY_LIST);
  kv_store *store = NULL;
  kv_step key = kv_key("n");
  nanosleep(&while_ago, NULL);
  int good =
      kv_store_open_file(kv_string(path), &options, &store, NULL) == KV_OK &&
      kv_store_set_integer(store, &key, 1, value, NULL) == KV_OK &&
      kv_store_close(store, NULL) == KV_OK;
  _exit(good ? 0 : 1);
}

static void waits(void) {
  kv_store_options options = store_options(KV_ENGINE_PROPERTY_LIST);
  const char *path = in_folder("waited.plist");
  char name[4096];
  kv_store *store = NULL;
  kv_watch *watch = NULL;
  kv_step key = kv_key("n");
  size_t calls = 9;
  int told = 0, status = 1;
  snprintf(name, sizeof name, "%s", path);
  CHECK(kv_store_open_file(kv_string(name), &options, &store, NULL) == KV_OK);
  CHECK(kv_store_set_integer(store, &key, 1, 1, NULL) == KV_OK);
  CHECK(kv_store_sync(store, NULL) == KV_OK);
  CHECK(kv_store_watch(store, &key, 1, KV_SCOPE_VALUE, count_change, &told,
                       &watch, NULL) == KV_OK);
  double start = now();
  CHECK(kv_store_wait(store, 0.05, &calls, NULL) == KV_OK && calls == 0);
  CHECK(now() - start >= 0.05);
  CHECK(kv_store_wait(store, 0, &calls, NULL) == KV_OK && calls == 0);
  CHECK(kv_store_set_integer(store, &key, 1, 2, NULL) == KV_OK);
  CHECK(kv_store_wait(store, HUGE_VAL, &calls, NULL) == KV_OK && calls == 1);
  CHECK(kv_store_sync(store, NULL) == KV_OK);
  pid_t child = set_beside(name, 3);
  CHECK(kv_store_wait(store, HUGE_VAL, &calls, NULL) == KV_OK && calls == 1);
  CHECK(told == 2);
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = note_signal;
  CHECK(sigaction(SIGALRM, &action, NULL) == 0);
  struct itimerval soon = {{0, 0}, {0, 50000}};
  CHECK(setitimer(ITIMER_REAL, &soon, NULL) == 0);
  CHECK(kv_store_wait(store, HUGE_VAL, &calls, NULL) == KV_OK && calls == 0);
  CHECK(signals == 1);
  kv_watch_cancel(watch);
  kv_store_close(store, NULL);
  CHECK(kv_store_wait(store, 1, NULL, NULL) == KV_CLOSED);
  kv_store_free(store);
}

int main(void) {
  make_folder();
  waits();
  remove_folder();
  watches();
  subtrees();
  return finish_checks();
}
