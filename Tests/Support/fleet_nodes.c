/* Many machines of a fleet in one process, each with connections of its own,
 * that take up what is written into a store.
 *
 *   fleet_nodes SERVER STORE NODES SECONDS_BETWEEN_POLLS CHANGES
 *
 * With 0 seconds the nodes listen. Prints "ready" once all have the store, and
 * when all have seen the key `n` at CHANGES, or nothing came for four minutes,
 * a line for each change that a node has seen: the microseconds from the time
 * of day in `at`, which was written with it.
 */
#define _DEFAULT_SOURCE
#include <kvcodable.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>

typedef struct node {
  kv_store *store;
  kv_watch *watch;
  int64_t seen;
  char server[1000];
} node;

static long long times[1000000];
static size_t count;

static long long now(void) {
  struct timespec time;
  clock_gettime(CLOCK_REALTIME, &time);
  return time.tv_sec * 1000000LL + time.tv_nsec / 1000;
}

/* The change is a dictionary with `n` and `at`. */
static void note(void *context, const kv_step *path, size_t steps,
                 const kv_tree *old, const kv_tree *changed) {
  node *own = context;
  kv_cursor root = kv_tree_root(changed), found;
  int64_t at = 0;
  (void)path, (void)steps, (void)old;
  if (!changed) return;
  if (kv_cursor_key(&root, kv_string("n"), &found) == KV_OK)
    kv_cursor_integer(&found, &own->seen);
  if (kv_cursor_key(&root, kv_string("at"), &found) == KV_OK)
    kv_cursor_integer(&found, &at);
  if (count < sizeof times / sizeof *times) times[count++] = now() - at;
}

static int fail(const char *what, kv_error *error) {
  fprintf(stderr, "%s: %s\n", what, kv_error_message(error).data);
  return 1;
}

int main(int arguments_count, char **arguments) {
  if (arguments_count < 6) return 2;
  int nodes = atoi(arguments[3]), ready = 0, poller = epoll_create1(0);
  int64_t changes = atoll(arguments[5]);
  node *all = calloc((size_t)nodes, sizeof *all);
  kv_step path = kv_key("change");
  kv_error *error;
  for (int i = 0; i < nodes; i++) {
    kv_store_options options = {.size = sizeof options,
                                .engine = KV_ENGINE_POSTGRESQL,
                                .read_only = 1,
                                .timeout = 60,
                                .poll_interval = atof(arguments[4])};
    struct epoll_event event = {.events = EPOLLIN, .data = {.ptr = &all[i]}};
    int descriptor;
    /* Another text is another server: with connections of its own. */
    snprintf(all[i].server, sizeof all[i].server, "%s application_name=node%d",
             arguments[1], i);
    options.server = kv_string(all[i].server);
    if (kv_store_open(kv_string(arguments[2]), &options, &all[i].store,
                      &error) < 0)
      return fail("open", error);
    if (kv_store_watch(all[i].store, &path, 1, KV_SCOPE_VALUE, note, &all[i],
                       &all[i].watch, &error) < 0)
      return fail("watch", error);
    if (kv_store_watch_descriptor(all[i].store, &descriptor, &error) < 0)
      return fail("descriptor", error);
    epoll_ctl(poller, EPOLL_CTL_ADD, descriptor, &event);
  }
  puts("ready");
  fflush(stdout);
  for (time_t end = time(NULL) + 240; ready < nodes && time(NULL) < end;) {
    struct epoll_event events[64];
    int found = epoll_wait(poller, events, 64, 1000);
    if (found > 0) end = time(NULL) + 240;
    for (int i = 0; i < found; i++) {
      node *own = events[i].data.ptr;
      int64_t before = own->seen;
      if (kv_store_pump(own->store, NULL, &error) < 0)
        return fail("pump", error);
      ready += before < changes && own->seen >= changes;
    }
  }
  for (size_t i = 0; i < count; i++) printf("%lld\n", times[i]);
  fflush(stdout);
  fprintf(stderr, "%d of %d nodes have seen the last change\n", ready, nodes);
  return ready == nodes ? 0 : 1;
}
