/* A program in C on a machine of a fleet: its limits are those of a store on the
 * fleet's server, which it reads alone. It starts and goes on while the server
 * is away, and keeps the last limits that fit.
 *
 *   host SECONDS
 */
#include <kvcodable_fields.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct limits {
  uint8_t burst;
  char message[81];
};

static const kv_field fields[] = {
    KV_FIELD(struct limits, burst, KV_FIELD_UINT8, "burst"),
    KV_FIELD(struct limits, message, KV_FIELD_TEXT, "message"),
};
enum { field_count = sizeof fields / sizeof *fields };

static const char types[] =
    "struct Limits { burst: Int(1...100) = 10;"
    " message: String(1...80) = \"welcome\" }";

/* Says what went wrong and frees the error; whether all is well. */
static int check(kv_status status, kv_error **error) {
  if (status >= 0) return 1;
  printf("refused: %s\n", kv_error_message(*error).data);
  fflush(stdout);
  kv_error_free(*error);
  *error = NULL;
  return 0;
}

static int open_store(kv_store **store) {
  kv_error *error = NULL;
  kv_type *schema = NULL;
  kv_registry *registry = kv_registry_new(NULL, 0);
  kv_store_options options = {
      .size = sizeof options, .engine = KV_ENGINE_POSTGRESQL, .read_only = 1};
  options.server = kv_string("service=fleet");
  int good =
      check(kv_registry_declare(registry, kv_string(types), kv_string(""), NULL,
                                &error),
            &error) &&
      check(kv_registry_type(registry, kv_string("Limits"), &schema, &error),
            &error);
  options.schema = schema;
  good = good &&
         check(kv_store_open(kv_string("gateway"), &options, store, &error),
               &error);
  kv_type_free(schema);
  kv_registry_free(registry);
  return good;
}

/* Takes up the limits as a whole: where one does not fit, all stay as they are.
 */
static void take(kv_store *store, struct limits *limits) {
  struct limits found = *limits;
  kv_error *error = NULL;
  if (!check(kv_read_fields(store, fields, field_count, &found, &error),
             &error))
    return;
  *limits = found;
  printf("burst %d, %s\n", limits->burst, limits->message);
  fflush(stdout);
}

static void note_change(void *is_changed, const kv_step *path, size_t steps,
                        const kv_tree *old, const kv_tree *now) {
  (void)path, (void)steps, (void)old, (void)now;
  *(bool *)is_changed = true;
}

/* The program's loop: sleeps until there may be something to tell. A value that
 * does not fit is an error of the pump, and ends nothing. */
static int follow(kv_store *store, struct limits *limits, double seconds) {
  kv_watch *watch = NULL;
  kv_error *error = NULL;
  bool is_changed = false;
  struct pollfd poller = {-1, POLLIN, 0};
  time_t end = time(NULL) + (time_t)seconds;
  int good =
      check(kv_store_watch(store, NULL, 0, KV_SCOPE_SUBTREE, note_change,
                           &is_changed, &watch, &error),
            &error) &&
      check(kv_store_watch_descriptor(store, &poller.fd, &error), &error);
  while (good && time(NULL) < end) {
    poll(&poller, 1, 500);
    check(kv_store_pump(store, NULL, &error), &error);
    if (is_changed) take(store, limits);
    is_changed = false;
  }
  kv_watch_cancel(watch);
  return good;
}

int main(int count, char **arguments) {
  struct limits limits = {10, "welcome"};
  kv_store *store = NULL;
  if (!open_store(&store)) return 1;
  take(store, &limits);
  int good = follow(store, &limits, count > 1 ? atof(arguments[1]) : 3600);
  kv_store_free(store);
  return good ? 0 : 1;
}
