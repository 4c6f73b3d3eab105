// wrapper.cpp: kvcodable.hpp, with exceptions and without.
// proves: G106
#define _XOPEN_SOURCE 700
#include <kvcodable.hpp>

#include <cstdio>
#include <limits>
#include <string>

#include "check.h"

namespace kv = kvcodable;

namespace {

struct settings {
  std::int32_t width;
  char title[8];
  bool has_title;
};

const kv_field fields[] = {
    KV_FIELD(settings, width, KV_FIELD_INT32, "window", "width"),
    KV_FIELD_OPTIONAL(settings, title, has_title, KV_FIELD_TEXT, "window",
                      "title"),
};

kv::store_options in_memory() {
  kv::store_options options;
  options.engine = KV_ENGINE_MEMORY;
  return options;
}

struct point {
  double x, y;
};

}  // namespace

template <>
struct kvcodable::value<point> {
  static std::string expression() { return "[Double]"; }
  static std::optional<point> read(const kv_cursor &at) {
    auto numbers = value<std::vector<double>>::read(at);
    if (!numbers || numbers->size() != 2) return {};
    return point{(*numbers)[0], (*numbers)[1]};
  }
  static kv_status write(kv_builder *to, const point &from, kv_error **error) {
    return value<std::vector<double>>::write(to, {from.x, from.y}, error);
  }
};

#ifdef KVCODABLE_NO_EXCEPTIONS

static void results() {
  auto store = kv::store::open_file("a", in_memory());
  CHECK(store.has_value());
  CHECK(store->set({"window", "width"}, 640).has_value());
  auto width = store->get<int>({"window", "width"});
  CHECK(width && *width && **width == 640);
  auto none = store->get<int>("none");
  CHECK(none && !*none);
  auto wrong = store->get<bool>({"window", "width"});
  CHECK(!wrong && wrong.error().status() == KV_TYPE_MISMATCH);
  CHECK(wrong.error().message() == "Expected Bool at window.width, found Int");
  CHECK(wrong.error().path() == "window.width");
  CHECK(store->get_or({"window", "width"}, 1) == 640);
  CHECK(store->get_or({"window", "width"}, "x") == "x");
  auto taken = store->transact([&] {
    CHECK(store->set("a", 1).has_value());
    return false;
  });
  CHECK(taken && !*taken && !*store->remove("a"));
  auto kept = store->transact([&] { CHECK(store->set("a", 1).has_value()); });
  CHECK(kept && *kept && *store->remove("a"));
  auto failed = store->transact([&] {
    CHECK(store->set("a", 1).has_value());
    return store->set({"window", "width", "x"}, 2);
  });
  CHECK(!failed && failed.error().path() == "window.width");
  CHECK(!*store->has("a"));
  auto absent = store->transact([&] {
    CHECK(store->set("a", 1).has_value());
    return store->remove("none");
  });
  CHECK(absent && !*absent && !*store->has("a"));
  auto given = store->transact([&] { return store->set("a", 1); });
  CHECK(given && *given && *store->remove("a"));
  const char *no_text = nullptr;
  CHECK(store->set("a", no_text).error().status() == KV_INVALID_ARGUMENT);
  settings values = {}, old = {};
  CHECK(store->read(fields, values).has_value() && values.width == 640);
  old = values;
  values.width = 1;
  CHECK(store->write(fields, old, values).has_value());
  kv::registry registry;
  CHECK(registry.declare("struct Player { volume: Int }").has_value());
  auto type = registry.type("Player");
  CHECK(type && type->json_schema() && *type->declaration());
  auto unnamed = kv::type::published("..");
  CHECK(!unnamed && unnamed.error().status() == KV_INVALID_NAME);
  CHECK(registry.publish("None", "a").error().status() == KV_INVALID_TYPE);
  auto refused = kv::store::open("..", in_memory());
  CHECK(!refused && refused.error().status() == KV_INVALID_NAME);
}

int main() {
  results();
  return finish_checks();
}

#else

namespace {

// The message of a call's error; empty where it throws nothing.
template <class Call>
std::string thrown(Call call) {
  try {
    call();
  } catch (const kv::error &error) {
    return error.what();
  }
  return {};
}

void scalars() {
  auto store = kv::store::open_file("a", in_memory());
  const std::string title = "Window 1";
  store.set("b", true);
  store.set("i8", std::int8_t(-128));
  store.set("u64", std::numeric_limits<std::uint64_t>::max());
  store.set("f", 0.5F);
  store.set("d", 1e300);
  store.set("s", title);
  store.set({"ui", "text"}, "literal");
  store.set({"ui", "view"}, std::string_view("view"));
  store.set("date", kv::date{0.25});
  store.set("data", kv::data{std::string("a\0b", 3)});
  CHECK(store.get<bool>("b") == true);
  CHECK(store.get<std::int8_t>("i8") == -128);
  CHECK(store.get<long long>("i8") == -128);
  CHECK(store.get<std::uint64_t>("u64") ==
        std::numeric_limits<std::uint64_t>::max());
  CHECK(store.get<float>("f") == 0.5F && store.get<double>("d") == 1e300);
  CHECK(store.get<std::string>(title.substr(7) == "1" ? "s" : "") == title);
  CHECK(store.get<std::string>({"ui", "text"}) == "literal");
  CHECK(store.get<std::string>({"ui", std::string("view")}) == "view");
  CHECK(store.get<kv::date>("date")->seconds_since_2001 == 0.25);
  CHECK(store.get<kv::data>("data")->bytes.size() == 3);
  CHECK(!store.get<int>("none") && !store.get<int>({"none", 0, "x"}));
  CHECK(store.keys() == std::vector<std::string>({"b", "d", "data", "date", "f",
                                                  "i8", "s", "u64", "ui"}));
}

void wrong_scalars() {
  auto store = kv::store::open_file("a", in_memory());
  store.set("i8", std::int8_t(-128));
  store.set("u64", std::numeric_limits<std::uint64_t>::max());
  store.set("s", "text");
  CHECK(thrown([&] { store.get<int>("s"); }) ==
        "Expected Int at s, found String");
  CHECK(thrown([&] { store.get<std::uint8_t>("i8"); }) ==
        "Expected UInt8 at i8, found -128");
  CHECK(thrown([&] { store.get<int>("u64"); }) ==
        "Expected Int32 at u64, found 18446744073709551615");
  const char *no_text = nullptr;
  CHECK(thrown([&] { store.set("none", no_text); }) == "a text is NULL");
  CHECK(thrown([&] {
          store.set({"ui", "none"}, std::vector<const char *>{"a", no_text});
        }) == "a text is NULL");
  try {
    store.set({"ui", "none"}, std::vector<std::string>{"a", "\xFF"});
    CHECK(false);
  } catch (const kv::error &error) {
    CHECK(error.path() == "ui.none[1]");
  }
}

void fallbacks() {
  auto store = kv::store::open_file("a", in_memory());
  const std::string title = "Window 1";
  store.set("i8", std::int8_t(-128));
  store.set("s", title);
  store.set({"ui", "text"}, "literal");
  CHECK(store.get_or("i8", 5) == -128 && store.get_or("none", 5) == 5);
  CHECK(store.get_or("s", 5) == 5 && store.get_or("none", "x") == "x");
  CHECK(store.get_or<std::string>("s", "x") == title);
  CHECK(store.get_or({"ui", "text"}, std::string_view("x")) == "literal");
  CHECK(store.get_or("none", std::string_view("x")) == "x");
  const std::string long_text(100, 'x');
  store.set("long", long_text);
  CHECK(store.get_or("long", std::string_view()) == long_text);
  char buffer[] = "x";
  CHECK(store.get_or("long", buffer) == long_text);
  CHECK(store.get_or("none", buffer) == "x" && store.remove("long"));
  const char *no_text = nullptr;
  CHECK(store.get_or("none", no_text) == "" &&
        store.get_or("s", no_text) == title);
}

void removals() {
  auto store = kv::store::open_file("a", in_memory());
  store.set("b", true);
  store.set({"ui", "text"}, "literal");
  store.set({"ui", "view"}, std::string_view("view"));
  CHECK(store.remove("b") && !store.remove("b"));
  CHECK(store.has({"ui", "view"}) && !store.has({"ui", "none"}));
  CHECK(store.rename({"ui", "view"}, "view") && !store.rename("none", "x"));
  CHECK(store.get<std::string>("view") == "view" && store.reset("view"));
  CHECK(!store.has("view") && !store.reset("view"));
  CHECK(!store.origin_of("view") && store.origin_of("ui"));
  CHECK(store.origin_of("ui")->layer == KV_LAYER_APPLICATION);
  CHECK(!store.is_forced("ui"));
  CHECK(store.keys() == std::vector<std::string>({"ui"}));
}

void containers() {
  auto store = kv::store::open_file("a", in_memory());
  std::vector<std::string> tags = {"a", "b"};
  std::map<std::string, std::vector<int>> sizes = {{"x", {1, 2}}, {"y", {}}};
  store.set("tags", tags);
  store.set("sizes", sizes);
  store.set("flags", std::vector<bool>{true, false});
  store.set("point", point{1, 2});
  CHECK(store.get<std::vector<std::string>>("tags") == tags);
  CHECK((store.get<std::map<std::string, std::vector<int>>>("sizes") == sizes));
  CHECK(store.get<std::vector<bool>>("flags") ==
        std::vector<bool>({true, false}));
  CHECK(store.get<std::string>({"tags", 1}) == "b");
  CHECK(store.get<point>("point")->y == 2);
  CHECK(thrown([&] { store.get<point>({"sizes", "x"}); }).empty());
  CHECK(thrown([&] {
          store.get<point>({"sizes", "y"});
        }) == "Expected [Double] at sizes.y");
  CHECK(thrown([&] { store.get<point>("tags"); }) ==
        "Expected Double at tags[0], found String");
  auto all = store.snapshot();
  CHECK(all.get<int>({"sizes", "x", 0}) == 1 && !all.get<int>("none"));
  CHECK(thrown([&] {
          all.get<bool>({"sizes", "x", 0});
        }) == "Expected Bool at sizes.x[0], found Int");
  CHECK(kv::tree::parse(all.encode(KV_FORMAT_BINARY)) == all);
  CHECK(thrown([] { kv::tree::parse("{"); }) != "");
  CHECK(kv::tree::of(5) != kv::tree::of(5.0));
  CHECK(!kv::tree::read_file("/nonexistent/none.plist"));
}

void schemas() {
  kv::registry registry;
  registry.declare(
      "struct Pane { width: Int = 640 }"
      "struct Panes { pane: Pane; title: String? @key(pane_title) }");
  auto schema = registry.type("Panes");
  auto options = in_memory();
  options.schema = schema.handle();
  auto store = kv::store::open_file("a", options);
  CHECK(store.get<int>({"pane", "width"}) == 640);
  CHECK(store.keys({"pane"}) == std::vector<std::string>({"width"}));
  CHECK(store.keys({"none"}).empty());
  CHECK(store.type_at({"pane_title"}) && !store.type_at({"title"}));
  CHECK(schema.at({"pane", "width"}) && !schema.at({"pane", 1}));
  CHECK(!registry.declare_file("/nonexistent/none.kvtypes"));
  CHECK(kv::store::names(KV_ENGINE_MEMORY).empty());
  std::string file = "/acme/settings.plist";
  std::string found = kv::store::file_of("acme/settings");
  CHECK(found.size() > file.size() &&
        found.substr(found.size() - file.size()) == file);
  CHECK(thrown([] { kv::store::file_of("../a"); }) != "");
}

// Values are read and set as a schema shows them.
void schema_values() {
  kv::registry registry;
  registry.declare(
      "struct Song { label: String? @key(song_label); takes: [Int(...9)] = [] }"
      "struct Player { volume: Int(0...10) = 7; song: Song }");
  auto schema = registry.type("Player");
  kv::store_options options;
  options.schema = schema.handle();
  write_file(in_folder("player.json"),
             "{\"volume\": 99, \"song\": {\"takes\": [10]}}");
  auto store = kv::store::open_file(in_folder("player.json"), options);
  CHECK(thrown([&] { store.get<int>("volume"); }) ==
        "Expected 0...10 at volume, found 99");
  CHECK(store.get_or("volume", 1) == 1);
  CHECK(thrown([&] {
          store.get<std::vector<int>>({"song", "takes"});
        }) == "Expected ...9 at song.takes[0], found 10");
  store.set("volume", 3);
  CHECK(store.get<std::uint8_t>("volume") == 3);
  CHECK(thrown([&] { store.get<bool>("volume"); }) ==
        "Expected Bool at volume, found Int");
  using entries = std::map<std::string, kv::tree>;
  store.set("song", kv::tree::parse("{\"label\": \"A\"}"));
  auto song = store.get<entries>("song");
  CHECK(song->count("label") == 1 && song->count("song_label") == 0);
  store.set("song", *song);
  CHECK(store.snapshot().get<std::string>({"song", "song_label"}) == "A");
}

// Types that are published for a store, in a data folder of the test's own.
void published() {
  setenv("XDG_DATA_HOME", folder, 1);
  setenv("XDG_DATA_DIRS", folder, 1);
  kv::registry registry;
  registry.declare("struct Player { volume: Int(0...10) = 7 }");
  CHECK(!kv::type::published("com.acme.player"));
  std::string file = registry.publish("Player", "com.acme.player");
  CHECK(file ==
        std::string(folder) + "/kvcodable/types/com.acme.player.kvtypes");
  auto found = kv::type::published("com.acme.player");
  auto options = in_memory();
  options.schema = found->handle();
  auto store = kv::store::open_file("a", options);
  CHECK(thrown([&] { store.set("volume", 11); }) ==
        "Expected 0...10 at volume, found 11");
  CHECK(found->declaration() ==
        "struct Player {\n    volume: Int(0...10) = 7\n}");
  CHECK(!registry.type("[Player]").declaration());
  CHECK(registry.type("Int8(...5)").json_schema() ==
        "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\","
        "\"maximum\":5,\"minimum\":-128,\"type\":\"integer\"}");
  CHECK(thrown([&] { registry.publish("[Player]", "com.acme.player"); }) ==
        "Expected a declared type to publish, found [Player]");
  CHECK(thrown([] { kv::type::published("a/../b"); }) != "");
  write_file(file.c_str(), "root A\nstruct A { x: }");
  try {
    kv::type::published("com.acme.player");
    CHECK(false);
  } catch (const kv::error &error) {
    CHECK(error.status() == KV_INVALID_TYPE && error.line() == 2);
  }
}

void types() {
  auto store = kv::store::open_file("a", in_memory());
  kv::registry registry;
  registry.declare(
      "struct Window { width: Int(1...9); title: String = \"x\" }");
  kv::type window = registry.type("Window");
  store.set("window", kv::tree::parse("{\"width\": 5, \"other\": 1}"));
  store.set("window", kv::tree::parse("{\"width\": 7}"), window);
  CHECK(store.get<int>({"window", "other"}) == 1);
  auto shown = store.get("window", window);
  CHECK(shown && shown->get<std::string>("title") == "x");
  CHECK(thrown([&] {
          store.set("window", kv::tree::parse("{\"width\": 0}"), window);
        }) == "Expected 1...9 at window.width, found 0");
  CHECK(thrown([&] { registry.type("Nothing"); }) != "");
}

// What was moved from is an error to use, and no type is never a type that
// takes everything.
void moved() {
  auto store = kv::store::open_file("a", in_memory());
  kv::registry registry;
  registry.declare("struct Window { width: Int(1...9) }");
  kv::type window = registry.type("Window"), taken = std::move(window);
  auto wide = kv::tree::parse("{\"width\": 500}");
  CHECK(thrown([&] { store.set("window", wide, window); }) == "type is NULL");
  CHECK(thrown([&] { store.get("window", window); }) == "type is NULL");
  CHECK(thrown([&] { window.at("width"); }) == "type is NULL");
  CHECK(thrown([&] { window.declaration(); }) == "type is NULL");
  CHECK(!store.has("window") && !window.handle());
  kv::registry owner = std::move(registry);
  CHECK(thrown([&] { registry.type("Int"); }) == "registry is NULL");
  CHECK(thrown([&] { registry.declare("struct A {}"); }) != "");
  kv::tree tree = std::move(wide);
  CHECK(thrown([&] { wide.get<int>("width"); }) == "tree is NULL");
  CHECK(thrown([&] { wide.encode(); }) == "tree is NULL" && !wide);
  CHECK(thrown([&] { store.set("window", wide); }) != "");
  CHECK(thrown([&] { store.set("window", std::vector<int>()); }) == "");
  auto transaction = store.begin();
  auto last = std::move(transaction);
  CHECK(thrown([&] { transaction.commit(); }) == "transaction is NULL");
  auto other = std::move(store);
  CHECK(thrown([&] { store.get<int>("window"); }) == "store is NULL");
  CHECK(thrown([&] { store.transact([] {}); }) == "store is NULL");
  CHECK(thrown([&] { store.watch("a", {}); }) == "store is NULL");
  CHECK(thrown([&] { store.pump(); }) == "store is NULL");
}

void transactions() {
  auto store = kv::store::open_file("a", in_memory());
  CHECK(store.transact([&] {
    store.set("n", store.get_or("n", 0) + 1);
    store.set("m", store.get_or("n", 0) + 1);
  }));
  CHECK(store.get<int>("m") == 2);
  try {
    store.transact([&] {
      store.set("n", 7);
      throw 5;
    });
    CHECK(false);
  } catch (int number) {
    CHECK(number == 5 && store.get<int>("n") == 1);
  }
  {
    auto transaction = store.begin();
    store.set("n", 8);
  }
  CHECK(store.get<int>("n") == 1);
  auto transaction = store.begin();
  store.set("n", 9);
  transaction.commit();
  CHECK(store.get<int>("n") == 9);
  CHECK(thrown([&] { transaction.commit(); }) != "");
  CHECK(!store.transact([&] {
    store.set("n", 10);
    return store.remove("none");
  }));
  CHECK(store.get<int>("n") == 9);
  CHECK(thrown([&] {
          store.transact([&]() -> kv::result<void> {
            store.set("n", 10);
            return kv::error(KV_REFUSED, "no");
          });
        }) == "no");
  CHECK(store.get<int>("n") == 9);
}

void watches() {
  auto store = kv::store::open_file("a", in_memory());
  int calls = 0;
  std::string seen;
  store.set({"ui", "other"}, 1);
  {
    auto watch = store.watch(
        {"ui"},
        [&](const kv::path &at, const kv_tree *old, const kv_tree *now) {
          calls++;
          seen = std::string(at.key(at.size() - 1));
          if (old && !now) throw std::string("gone");
        },
        KV_SCOPE_SUBTREE);
    auto moved = std::move(watch);
    store.set({"ui", "theme"}, "dark");
    CHECK(store.pump() == 1 && calls == 1 && seen == "theme");
    store.remove({"ui", "theme"});
    try {
      store.pump();
      CHECK(false);
    } catch (const std::string &text) {
      CHECK(text == "gone" && calls == 2);
    }
    CHECK(store.pump() == 0 && store.descriptor() >= 0);
  }
  store.set({"ui", "theme"}, "light");
  CHECK(store.pump() == 0 && calls == 2);
}

// A handler may end its own watch, and may then throw; what it throws is the
// pump's, also where the pump has an error of its own.
void ending_watches() {
  auto store = kv::store::open_file("a", in_memory());
  std::optional<kv::watch> once;
  const std::string text(100, 'x');
  std::string seen;
  once = store.watch("n", [&once, &seen, text](auto &&...) {
    once.reset();
    seen = text;
    throw text;
  });
  store.set("n", 1);
  try {
    store.pump();
    CHECK(false);
  } catch (const std::string &thrown) {
    CHECK(thrown == text && seen == text && !once);
  }
  store.set("n", 2);
  CHECK(store.pump() == 0);
  kv::registry registry;
  registry.declare("struct Player { volume: Int(0...10) = 7; other: Int? }");
  auto schema = registry.type("Player");
  kv::store_options options;
  options.schema = schema.handle();
  auto typed = kv::store::open_file(in_folder("c.plist"), options);
  auto volume = typed.watch("volume", [](auto &&...) {});
  auto other = typed.watch("other", [](auto &&...) { throw 5; });
  {
    auto untyped = kv::store::open_file(in_folder("c.plist"));
    untyped.set("volume", 99);
    untyped.set("other", 1);
  }
  try {
    typed.pump();
    CHECK(false);
  } catch (int number) {
    CHECK(number == 5);
  }
  CHECK(typed.pump() == 0);
}

void stores() {
  {
    auto store = kv::store::open_file(in_folder("a.plist"));
    store.set("n", 1);
    store.sync();
    auto other = std::move(store);
    CHECK(other.get<int>("n") == 1);
    CHECK(thrown([&] { store.set("n", 2); }) != "");
    store = std::move(other);
    store.set("n", 3);
    CHECK(store.origin_of("n")->file.find("/a.plist") != std::string::npos);
    store.close();
    CHECK(thrown([&] { store.set("n", 4); }).find("closed") !=
          std::string::npos);
  }
  auto file = kv::tree::read_file(in_folder("a.plist"));
  CHECK(file && file->get<int>("n") == 3);
  file->write_file(in_folder("b.json"), KV_FORMAT_JSON);
  CHECK(kv::tree::read_file(in_folder("b.json")) == file);
  kv_store_options options = {};
  options.size = sizeof options;
  options.read_only = 1;
  CHECK(thrown([&] {
          kv::store::open_file(in_folder("a.plist"), options).set("n", 1);
        }) != "");
  CHECK(thrown([] { kv::store::open(".."); }) != "");
}

void tables() {
  auto store = kv::store::open_file("a", in_memory());
  settings values = {640, "", false}, old = {};
  store.read(fields, values);
  CHECK(values.width == 640 && !values.has_title);
  old = values;
  values.width = 800;
  store.write(fields, old, values);
  CHECK(store.get<int>({"window", "width"}) == 800);
  store.set({"window", "title"}, 5);
  CHECK(thrown([&] { store.read(fields, values); }) ==
        "Expected String at window.title, found Int");
}

}  // namespace

int main() {
  make_folder();
  scalars();
  wrong_scalars();
  fallbacks();
  removals();
  containers();
  schemas();
  schema_values();
  types();
  moved();
  published();
  transactions();
  watches();
  ending_watches();
  stores();
  tables();
  remove_folder();
  return finish_checks();
}

#endif
