/* A program whose local store has stores of a fleet as layers.
 *
 *   fleet_layers SERVER MANDATORY RECOMMENDED
 */
#include <kvcodable.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static void show(kv_store *store, const char *key, char **arguments) {
  kv_step path = kv_key(key);
  kv_origin origin = {.size = sizeof origin};
  int64_t value = 0;
  int forced = 0, number = 0;
  kv_store_get_integer(store, &path, 1, &value, NULL);
  kv_store_is_forced(store, kv_string(key), &forced, NULL);
  if (kv_store_origin(store, &path, 1, &origin, NULL) != KV_OK) return;
  for (int i = 2; i < 4; i++)
    if (origin.store.data &&
        !strcmp((const char *)origin.store.data, arguments[i]))
      number = i - 1;
  printf("%s %d forced %d layer %d index %d store %d revision %d author %s\n",
         key, (int)value, forced, (int)origin.layer, (int)origin.suite, number,
         (int)origin.revision,
         origin.author.data ? (const char *)origin.author.data : "none");
  kv_bytes_free(&origin.file);
  kv_bytes_free(&origin.store);
  kv_bytes_free(&origin.author);
}

int main(int count, char **arguments) {
  if (count < 4) return 2;
  kv_str mandatory = kv_string(arguments[2]);
  kv_str recommended = kv_string(arguments[3]);
  kv_store_options options = {.size = sizeof options,
                              .timeout = 5,
                              .mandatory = &mandatory,
                              .mandatory_count = 1,
                              .recommended = &recommended,
                              .recommended_count = 1};
  kv_step burst = kv_key("burst"), rate = kv_key("rate");
  kv_store *store;
  kv_error *error;
  int64_t value = 0;
  options.server = kv_string(arguments[1]);
  if (kv_store_open(kv_string("layered"), &options, &store, &error) < 0) {
    fprintf(stderr, "%s\n", kv_error_message(error).data);
    return 1;
  }
  show(store, "burst", arguments);
  show(store, "rate", arguments);
  if (kv_store_set_integer(store, &burst, 1, 1, NULL) == KV_FORCED)
    puts("set burst: forced");
  kv_store_set_integer(store, &rate, 1, 8, NULL);
  kv_store_get_integer(store, &rate, 1, &value, NULL);
  kv_origin origin = {.size = sizeof origin};
  kv_store_origin(store, &rate, 1, &origin, NULL);
  printf("set rate: %d layer %d\n", (int)value, (int)origin.layer);
  kv_bytes_free(&origin.file);
  /* As a program that was compiled before there were servers. */
  kv_origin old = {.size = offsetof(kv_origin, store)};
  old.revision = -2;
  if (kv_store_origin(store, &burst, 1, &old, NULL) == KV_OK)
    printf("old size: %d\n", -(int)old.revision);
  kv_bytes_free(&old.file);
  kv_store_free(store);
  options.server.length = 0;
  if (kv_store_open(kv_string("layered"), &options, &store, NULL) ==
      KV_INVALID_ARGUMENT)
    puts("without a server: invalid_argument");
  kv_store_options usual = {.size = sizeof usual, .timeout = 5};
  usual.engine = KV_ENGINE_POSTGRESQL;
  usual.server = kv_string(arguments[1]);
  usual.note = kv_string("from C");
  if (kv_store_open(recommended, &usual, &store, NULL) < 0) return 1;
  kv_store_set_integer(store, &burst, 1, 10, NULL);
  kv_store_free(store);
  return 0;
}
