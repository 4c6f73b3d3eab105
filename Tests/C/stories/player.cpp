// player.cpp: a program's ten settings in a struct, watched, changed and written
// back: the least that a program needs.
#define _XOPEN_SOURCE 700
#include "check.h"

#include <kvcodable.hpp>

struct settings {
  char device[32] = "default";
  uint8_t volume = 7;
  double speed = 1;
  float balance = 0;
  int32_t width = 640;
  int32_t height = 480;
  char theme[16] = "dark";
  bool shuffles = false;
  time_t opened = 0;
  uint16_t port = 80;
};

static const kv_field fields[] = {
    KV_FIELD(settings, device, KV_FIELD_TEXT, "sound", "device"),
    KV_FIELD(settings, volume, KV_FIELD_UINT8, "sound", "volume"),
    KV_FIELD(settings, speed, KV_FIELD_DOUBLE, "sound", "speed"),
    KV_FIELD(settings, balance, KV_FIELD_FLOAT, "sound", "balance"),
    KV_FIELD(settings, width, KV_FIELD_INT32, "window", "width"),
    KV_FIELD(settings, height, KV_FIELD_INT32, "window", "height"),
    KV_FIELD(settings, theme, KV_FIELD_TEXT, "theme"),
    KV_FIELD(settings, shuffles, KV_FIELD_BOOL, "shuffles"),
    KV_FIELD(settings, opened, KV_FIELD_TIME, "opened"),
    KV_FIELD(settings, port, KV_FIELD_UINT16, "port"),
};

int main() {
  make_folder();
  write_file(in_folder("player.json"), "{\"sound\": {\"volume\": 9}}");
  try {
    auto store = kvcodable::store::open_file(in_folder("player.json"));
    bool changed = false;
    auto watch = store.watch({}, [&](auto &&...) { changed = true; });
    settings now;
    store.read(fields, now);
    CHECK(now.volume == 9 && now.width == 640);
    auto old = now;
    now.width = 800;
    store.write(fields, old, now);
    CHECK(store.wait(5) == 1 && changed);
    store.read(fields, now);
    CHECK(now.width == 800);
    store.close();
  } catch (const kvcodable::error &error) {
    CHECK_NAMED(false, error.what());
  }
  remove_folder();
  return finish_checks();
}
