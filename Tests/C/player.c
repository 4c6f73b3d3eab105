/* player.c: a program's ten settings in a struct, watched, changed and written
 * back: what a program needs at the least. */
#define _XOPEN_SOURCE 700
#include "check.h"
#include "kvcodable_fields.h"

#include <stdbool.h>

struct settings {
  char device[32], theme[16];
  int32_t width, height;
  uint8_t volume;
  bool shuffles;
  double speed;
  char *folder; /* owned */
  uint16_t ports[4];
  size_t port_count;
  time_t opened;
};

#define FIELD(member, kind, ...) \
  KV_FIELD(struct settings, member, kind, __VA_ARGS__)
static const kv_field fields[] = {
    FIELD(device, KV_FIELD_TEXT, "sound", "device"),
    FIELD(volume, KV_FIELD_UINT8, "sound", "volume"),
    FIELD(speed, KV_FIELD_DOUBLE, "sound", "speed"),
    FIELD(width, KV_FIELD_INT32, "window", "width"),
    FIELD(height, KV_FIELD_INT32, "window", "height"),
    FIELD(theme, KV_FIELD_TEXT, "theme"),
    FIELD(shuffles, KV_FIELD_BOOL, "shuffles"),
    FIELD(folder, KV_FIELD_STRING, "folder"),
    FIELD(opened, KV_FIELD_TIME, "opened"),
    KV_FIELD_ARRAY(struct settings, ports, port_count, KV_FIELD_UINT16,
                   "ports")};
enum { COUNT = sizeof fields / sizeof *fields };

static void note(void *changed, const kv_step *path, size_t steps,
                 const kv_tree *old_value, const kv_tree *new_value) {
  (void)path, (void)steps, (void)old_value, (void)new_value;
  *(bool *)changed = true;
}

int main(void) {
  struct settings now = {"default", "dark", 640,  480, 7, false,
                         1.0,       NULL,   {80}, 1,   0},
                  old = {0};
  kv_store *store = NULL;
  kv_watch *watch = NULL;
  kv_error *error = NULL;
  bool changed = false;
  make_folder();
  write_file(in_folder("player.json"), "{\"sound\": {\"volume\": 9}}");
  CHECK(kv_store_open_file(kv_string(in_folder("player.json")), NULL, &store,
                           &error) == KV_OK);
  CHECK(kv_store_watch(store, NULL, 0, KV_SCOPE_SUBTREE, note, &changed, &watch,
                       &error) == KV_OK);
  CHECK(kv_read_fields(store, fields, COUNT, &now, &error) == KV_OK);
  CHECK(now.volume == 9 && now.width == 640);
  kv_copy_fields(fields, COUNT, &now, &old);
  now.width = 800;
  CHECK(kv_write_fields(store, fields, COUNT, &old, &now, &error) == KV_OK);
  CHECK(kv_store_wait(store, 5, NULL, &error) == KV_OK && changed);
  CHECK(kv_read_fields(store, fields, COUNT, &now, &error) == KV_OK);
  CHECK(now.width == 800);
  if (error) fprintf(stderr, "%s\n", kv_error_message(error).data);
  kv_error_free(error);
  kv_free_fields(fields, COUNT, &now);
  kv_free_fields(fields, COUNT, &old);
  kv_watch_cancel(watch);
  kv_store_free(store); /* writes what is left */
  remove_folder();
  return finish_checks();
}
