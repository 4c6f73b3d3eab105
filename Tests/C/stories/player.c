/* player.c: a program's ten settings in a struct, watched, changed and written
 * back: the least that a program needs. */
#define _XOPEN_SOURCE 700
#include "check.h"
#include "kvcodable_fields.h"

struct settings {
  char device[32];
  uint8_t volume;
  double speed;
  int32_t width;
  int32_t height;
  char theme[16];
  bool shuffles;
  char folder[64];
  time_t opened;
  uint16_t port;
};

static const kv_field fields[] = {
    KV_FIELD(struct settings, device, KV_FIELD_TEXT, "sound", "device"),
    KV_FIELD(struct settings, volume, KV_FIELD_UINT8, "sound", "volume"),
    KV_FIELD(struct settings, speed, KV_FIELD_DOUBLE, "sound", "speed"),
    KV_FIELD(struct settings, width, KV_FIELD_INT32, "window", "width"),
    KV_FIELD(struct settings, height, KV_FIELD_INT32, "window", "height"),
    KV_FIELD(struct settings, theme, KV_FIELD_TEXT, "theme"),
    KV_FIELD(struct settings, shuffles, KV_FIELD_BOOL, "shuffles"),
    KV_FIELD(struct settings, folder, KV_FIELD_TEXT, "folder"),
    KV_FIELD(struct settings, opened, KV_FIELD_TIME, "opened"),
    KV_FIELD(struct settings, port, KV_FIELD_UINT16, "port"),
};

int main(void) {
  struct settings now = {.device = "default", .width = 640, .theme = "dark"};
  kv_store *store = NULL;
  kv_watch *watch = NULL;
  kv_error *error = NULL;
  bool changed = false;
  make_folder();
  write_file(in_folder("player.json"), "{\"sound\": {\"volume\": 9}}");
  CHECK(kv_store_open_file(kv_string(in_folder("player.json")), NULL, &store,
                           &error) == KV_OK);
  CHECK(kv_store_watch(store, NULL, 0, KV_SCOPE_VALUE, kv_note_change, &changed,
                       &watch, &error) == KV_OK);
  CHECK(kv_read_fields(store, KV_FIELDS(fields), &now, &error) == KV_OK);
  CHECK(now.volume == 9 && now.width == 640);
  struct settings old = now;
  now.width = 800;
  CHECK(kv_write_fields(store, KV_FIELDS(fields), &old, &now, &error) == KV_OK);
  CHECK(kv_store_wait(store, 5, NULL, &error) == KV_OK && changed);
  CHECK(kv_read_fields(store, KV_FIELDS(fields), &now, &error) == KV_OK);
  CHECK(now.width == 800);
  if (error) fprintf(stderr, "%s\n", kv_error_message(error).data);
  kv_error_free(error);
  kv_watch_cancel(watch);
  kv_store_free(store);
  remove_folder();
  return finish_checks();
}
