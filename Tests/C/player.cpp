// player.cpp: a program's ten settings in a struct, watched, changed and written
// back: what a program needs at the least.
#define _XOPEN_SOURCE 700
#include "check.h"

#include <kvcodable.hpp>

struct settings {
  char device[32] = "default", theme[16] = "dark";
  int32_t width = 640, height = 480;
  uint8_t volume = 7;
  bool shuffles = false;
  double speed = 1.0;
  time_t opened = 0;
  uint16_t ports[4] = {80};
  size_t port_count = 1;
  float balance = 0;
};

#define FIELD(member, kind, ...) KV_FIELD(settings, member, kind, __VA_ARGS__)
static const kv_field fields[] = {
    FIELD(device, KV_FIELD_TEXT, "sound", "device"),
    FIELD(volume, KV_FIELD_UINT8, "sound", "volume"),
    FIELD(speed, KV_FIELD_DOUBLE, "sound", "speed"),
    FIELD(balance, KV_FIELD_FLOAT, "sound", "balance"),
    FIELD(width, KV_FIELD_INT32, "window", "width"),
    FIELD(height, KV_FIELD_INT32, "window", "height"),
    FIELD(theme, KV_FIELD_TEXT, "theme"),
    FIELD(shuffles, KV_FIELD_BOOL, "shuffles"),
    FIELD(opened, KV_FIELD_TIME, "opened"),
    KV_FIELD_ARRAY(settings, ports, port_count, KV_FIELD_UINT16, "ports")};

int main() {
  make_folder();
  write_file(in_folder("player.json"), "{\"sound\": {\"volume\": 9}}");
  try {
    auto store = kvcodable::store::open_file(in_folder("player.json"));
    settings now;
    bool changed = false;
    store.read(fields, now);
    CHECK(now.volume == 9 && now.width == 640);
    auto watch = store.watch({}, [&](auto &&...) { changed = true; });
    auto old = now;
    now.width = 800;
    store.write(fields, old, now);
    CHECK(store.wait(5) == 1 && changed);
    store.read(fields, now);
    CHECK(now.width == 800 && store.has({"window", "width"}));
    auto origin = store.origin_of({"window", "width"});
    CHECK(origin && origin->layer == KV_LAYER_APPLICATION);
    CHECK(origin && origin->file.find("/player.json") != std::string::npos);
    CHECK(!store.origin_of("none"));
    CHECK(store.rename("theme", "colours") == false);
    CHECK(store.reset({"sound", "volume"}) && !store.has({"sound", "volume"}));
    store.set("theme", 5);
    try {
      store.read(fields, now);
    } catch (const kvcodable::error &error) {
      CHECK(error.message() == "Expected String at theme, found Int");
    }
    store.close();
  } catch (const kvcodable::error &error) {
    CHECK_NAMED(false, error.what());
  }
  remove_folder();
  return finish_checks();
}
