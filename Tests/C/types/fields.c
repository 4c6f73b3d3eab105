/* fields.c: structs read and written by tables of their members. */
#define _XOPEN_SOURCE 700
#include <limits.h>
#include <locale.h>
#include <math.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <time.h>

#include "check.h"
#include "kvcodable_fields.h"

struct plugin {
  char name[16];
  int32_t level;
  bool has_level;
  double gain;
  char *url;
};

static const kv_field plugin_fields[] = {
    KV_FIELD(struct plugin, name, KV_FIELD_TEXT, "name"),
    KV_FIELD_OPTIONAL(struct plugin, level, has_level, KV_FIELD_INT32, "level"),
    KV_FIELD(struct plugin, gain, KV_FIELD_DOUBLE, "audio", "gain"),
    KV_FIELD(struct plugin, url, KV_FIELD_STRING, "url"),
};

struct window {
  uint16_t width, height;
  char *title;
};

static const kv_field window_fields[] = {
    KV_FIELD(struct window, width, KV_FIELD_UINT16, "width"),
    KV_FIELD(struct window, height, KV_FIELD_UINT16, "height"),
    KV_FIELD(struct window, title, KV_FIELD_STRING, "title"),
};

struct settings {
  int8_t i8;
  int16_t i16;
  int32_t i32;
  int64_t i64;
  uint8_t u8;
  uint16_t u16;
  uint32_t u32;
  uint64_t u64;
  bool flag;
  int switched;
  float f;
  double d, opened;
  time_t saved;
  char name[8];
  char *path;
  struct window window, second;
  char has_second;
  int32_t sizes[4];
  uint8_t size_count;
  char tags[3][8];
  char *urls[3];
  size_t tag_count, url_count;
  struct plugin plugins[4];
  unsigned plugin_count;
};

#define S struct settings
static const kv_field fields[] = {
    KV_FIELD(S, i8, KV_FIELD_INT8, "numbers", "i8"),
    KV_FIELD(S, i16, KV_FIELD_INT16, "numbers", "i16"),
    KV_FIELD(S, i32, KV_FIELD_INT32, "numbers", "i32"),
    KV_FIELD(S, i64, KV_FIELD_INT64, "numbers", "i64"),
    KV_FIELD(S, u8, KV_FIELD_UINT8, "numbers", "u8"),
    KV_FIELD(S, u16, KV_FIELD_UINT16, "numbers", "u16"),
    KV_FIELD(S, u32, KV_FIELD_UINT32, "numbers", "u32"),
    KV_FIELD(S, u64, KV_FIELD_UINT64, "numbers", "u64"),
    KV_FIELD(S, flag, KV_FIELD_BOOL, "flag"),
    KV_FIELD(S, switched, KV_FIELD_BOOL, "deep", "er", "switched"),
    KV_FIELD(S, f, KV_FIELD_FLOAT, "numbers", "f"),
    KV_FIELD(S, d, KV_FIELD_DOUBLE, "numbers", "d"),
    KV_FIELD(S, opened, KV_FIELD_DATE, "opened"),
    KV_FIELD(S, saved, KV_FIELD_TIME, "saved"),
    KV_FIELD(S, name, KV_FIELD_TEXT, "a \"name\""),
    KV_FIELD(S, path, KV_FIELD_STRING, "path"),
    KV_FIELD_NESTED(S, window, window_fields, "window"),
    KV_FIELD_OPTIONAL_NESTED(S, second, has_second, window_fields, "windows",
                             "second"),
    KV_FIELD_ARRAY(S, sizes, size_count, KV_FIELD_INT32, "sizes"),
    KV_FIELD_ARRAY(S, tags, tag_count, KV_FIELD_TEXT, "tags"),
    KV_FIELD_ARRAY(S, urls, url_count, KV_FIELD_STRING, "urls"),
    KV_FIELD_NESTED_ARRAY(S, plugins, plugin_count, plugin_fields, "plugins"),
};
enum { count = sizeof fields / sizeof *fields };

/* Everything that the table has, as JSON has it (it has no dates). */
static const char everything[] =
    "{\"numbers\": {\"i8\": -128, \"i16\": -32768, \"i32\": -2147483648,"
    " \"i64\": -9223372036854775808, \"u8\": 255, \"u16\": 65535,"
    " \"u32\": 4294967295, \"u64\": 18446744073709551615, \"f\": 0.5,"
    " \"d\": 1e300}, \"flag\": true, \"deep\": {\"er\": {\"switched\": true}},"
    " \"a \\\"name\\\"\": \"seven77\", \"path\": \"/tmp/x\","
    " \"window\": {\"width\": 640, \"height\": 480, \"title\": \"One\"},"
    " \"windows\": {\"second\": {\"width\": 1}}, \"sizes\": [1, -2, 3],"
    " \"tags\": [\"a\", \"seven77\"], \"urls\": [\"u\"], \"plugins\":"
    " [{\"name\": \"clock\", \"level\": 3, \"audio\": {\"gain\": 2}, \"x\": 1,"
    " \"url\": \"v\"},"
    " {\"name\": \"news\", \"y\": 2}]}";

static kv_store *store_of(const char *json) {
  kv_store_options options = store_options(KV_ENGINE_MEMORY);
  kv_store *store = NULL;
  options.format = KV_FORMAT_BINARY;
  CHECK(kv_store_open_file(kv_string("a"), &options, &store, NULL) == KV_OK);
  CHECK(kv_store_import(store, kv_string(json), NULL, NULL) == KV_OK);
  return store;
}

/* Whether the store has the JSON's values, and nothing else. */
static int store_is(kv_store *store, const char *json) {
  kv_tree *expected = parse(json), *found = NULL;
  kv_store_snapshot(store, &found, NULL);
  int good = kv_tree_equal(expected, found);
  kv_bytes text = {NULL, 0};
  if (!good && kv_encode(found, KV_FORMAT_JSON, NULL, &text, NULL) == KV_OK)
    printf("# %s\n", text.data);
  kv_bytes_free(&text);
  kv_tree_free(expected);
  kv_tree_free(found);
  return good;
}

static void reading(void) {
  kv_store *store = store_of(everything);
  kv_step opened = kv_key("opened"), saved = kv_key("saved");
  kv_builder *builder = kv_builder_new();
  kv_tree *date = NULL;
  struct settings s;
  kv_error *error = NULL;
  memset(&s, 0, sizeof s);
  kv_builder_date(builder, -0.5, NULL);
  kv_builder_finish(builder, &date, NULL);
  kv_store_set(store, &opened, 1, date, NULL, 0, NULL, NULL);
  kv_store_set(store, &saved, 1, date, NULL, 0, NULL, NULL);
  CHECK(kv_read_fields(store, fields, count, &s, &error) == KV_OK && !error);
  CHECK(s.i8 == INT8_MIN && s.i16 == INT16_MIN && s.i32 == INT32_MIN);
  CHECK(s.i64 == INT64_MIN && s.u8 == UINT8_MAX && s.u16 == UINT16_MAX);
  CHECK(s.u32 == UINT32_MAX && s.u64 == UINT64_MAX);
  CHECK(s.flag && s.switched == 1 && s.f == 0.5F && s.d == 1e300);
  CHECK(s.opened == -0.5 && s.saved == 978307199);
  CHECK(!strcmp(s.name, "seven77") && !strcmp(s.path, "/tmp/x"));
  CHECK(s.window.width == 640 && !strcmp(s.window.title, "One"));
  CHECK(s.has_second == 1 && s.second.width == 1 && !s.second.title);
  CHECK(s.size_count == 3 && s.sizes[1] == -2 && s.sizes[2] == 3);
  CHECK(s.tag_count == 2 && !strcmp(s.tags[1], "seven77"));
  CHECK(s.url_count == 1 && !strcmp(s.urls[0], "u"));
  CHECK(s.plugin_count == 2 && s.plugins[0].has_level);
  CHECK(s.plugins[0].level == 3 && s.plugins[0].gain == 2);
  CHECK(!strcmp(s.plugins[0].url, "v") && !s.plugins[1].url);
  CHECK(!s.plugins[1].has_level && !strcmp(s.plugins[1].name, "news"));
  /* Once more over the present values, where elements begin as zeros. */
  kv_step plugin[] = {kv_key("plugins"), kv_index(0)};
  kv_store_remove(store, plugin, 2, NULL);
  CHECK(kv_read_fields(store, fields, count, &s, NULL) == KV_OK);
  CHECK(s.plugin_count == 1 && s.plugins[0].level == 0 &&
        s.plugins[0].gain == 0 && !strcmp(s.plugins[0].name, "news"));
  /* Half a second before 1970. */
  kv_builder_date(builder, -978307200.5, NULL);
  kv_tree_free(date);
  kv_builder_finish(builder, &date, NULL);
  kv_store_set(store, &saved, 1, date, NULL, 0, NULL, NULL);
  CHECK(kv_read_fields(store, fields, count, &s, NULL) == KV_OK);
  CHECK(s.saved == -1);
  /* An absent field stays as it was. */
  kv_store *empty = store_of("{}");
  CHECK(kv_read_fields(empty, fields, count, &s, NULL) == KV_OK);
  CHECK(s.i8 == INT8_MIN && s.window.width == 640 && s.plugin_count == 1);
  CHECK(!s.has_second && !strcmp(s.path, "/tmp/x"));
  kv_free_fields(fields, count, &s);
  CHECK(!s.path && !s.urls[0] && !s.window.title);
  kv_free_fields(fields, count, &s);
  kv_store_free(store);
  kv_store_free(empty);
  kv_tree_free(date);
  kv_builder_free(builder);
}

/* Each value that does not fit, and its error. */
static const char *const faults[][2] = {
    {"{\"numbers\": {\"i8\": 128}}", "Expected Int8 at numbers.i8, found 128"},
    {"{\"numbers\": {\"i16\": -32769}}",
     "Expected Int16 at numbers.i16, found -32769"},
    {"{\"numbers\": {\"i32\": 2147483648}}",
     "Expected Int32 at numbers.i32, found 2147483648"},
    {"{\"numbers\": {\"i64\": 9223372036854775808}}",
     "Expected Int64 at numbers.i64, found 9223372036854775808"},
    {"{\"numbers\": {\"u8\": -1}}", "Expected UInt8 at numbers.u8, found -1"},
    {"{\"numbers\": {\"u64\": 0.5}}",
     "Expected UInt64 at numbers.u64, found 0.5"},
    {"{\"numbers\": {\"f\": 1e300}}",
     "Expected Float at numbers.f, found 1e+300"},
    {"{\"numbers\": {\"d\": \"1\"}}",
     "Expected Double at numbers.d, found String"},
    {"{\"numbers\": 5}", "Expected Dictionary at numbers, found Int"},
    {"{\"deep\": {\"er\": []}}", "Expected Dictionary at deep.er, found Array"},
    {"{\"flag\": 1}", "Expected Bool at flag, found Int"},
    {"{\"opened\": 1}", "Expected Date at opened, found Int"},
    {"{\"saved\": \"now\"}", "Expected Date at saved, found String"},
    {"{\"a \\\"name\\\"\": \"eight888\"}",
     "Expected ...7 bytes at a \"name\", found 8"},
    {"{\"path\": \"a\\u0000b\"}", "Expected a string without NUL at path"},
    {"{\"path\": 5}", "Expected String at path, found Int"},
    {"{\"window\": true}", "Expected Dictionary at window, found Bool"},
    {"{\"window\": {\"width\": 65536}}",
     "Expected UInt16 at window.width, found 65536"},
    {"{\"windows\": {\"second\": {\"title\": 5}}}",
     "Expected String at windows.second.title, found Int"},
    {"{\"sizes\": {}}", "Expected Array at sizes, found Dictionary"},
    {"{\"sizes\": [1, 2, 3, 4, 5]}",
     "Expected ...4 elements at sizes, found 5"},
    {"{\"tags\": [\"a\", 5]}", "Expected String at tags[1], found Int"},
    {"{\"plugins\": [{}, {\"audio\": {\"gain\": true}}]}",
     "Expected Double at plugins[1].audio.gain, found Bool"},
    {"{\"plugins\": [5]}", "Expected Dictionary at plugins[0], found Int"},
};

/* proves: G104 */
static void refusals(void) {
  struct settings s;
  memset(&s, 0, sizeof s);
  s.path = (char *)malloc(4);
  strcpy(s.path, "old");
  struct settings before = s;
  for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
    kv_store *store = store_of(faults[i][0]);
    kv_step first = kv_key("numbers");
    kv_step i16[] = {first, kv_key("i16")};
    kv_error *error = NULL;
    if (i != 1 && i != 8) kv_store_set_integer(store, i16, 2, 7, NULL);
    CHECK(kv_read_fields(store, fields, count, &s, &error) == KV_TYPE_MISMATCH);
    CHECK(error_says(error, KV_TYPE_MISMATCH, faults[i][1]));
    CHECK(kv_read_fields(store, fields, count, &s, NULL) == KV_TYPE_MISMATCH);
    CHECK_NAMED(!memcmp(&s, &before, sizeof s) && !strcmp(s.path, "old"),
                "the struct is as it was");
    kv_store_free(store);
  }
  kv_free_fields(fields, count, &s);
}

/* A real with a whole value is an integer, as in the type language. */
static void conversions(void) {
  kv_store *store =
      store_of("{\"numbers\": {\"i8\": 5.0, \"f\": 3, \"d\": 4}}");
  struct settings s;
  memset(&s, 0, sizeof s);
  CHECK(kv_read_fields(store, fields, count, &s, NULL) == KV_OK);
  CHECK(s.i8 == 5 && s.f == 3 && s.d == 4);
  kv_store_free(store);
}

/* What the wrong tables are about. */
struct values {
  int64_t number;
  double real;
};

static void wrong_fields(void) {
  kv_store *store = store_of("{}");
  kv_error *error = NULL;
  struct values v = {0, 0};
  kv_field table[1] = {
      {KV_FIELD_INT32, 0, 8, 0, 0, 0, NULL, 0, {"window", "width"}}};
  const kv_field good = table[0];
  CHECK(kv_read_fields(store, table, 1, &v, &error) == KV_INVALID_ARGUMENT);
  CHECK(error_says(error, KV_INVALID_ARGUMENT,
                   "the member's size is not that of the field's kind at "
                   "window.width"));
  CHECK(kv_write_fields(store, table, 1, NULL, &v, NULL) ==
        KV_INVALID_ARGUMENT);
  table[0].kind = (kv_field_kind)99;
  CHECK(kv_read_fields(store, table, 1, &v, NULL) == KV_INVALID_ARGUMENT);
  table[0] = good;
  table[0].kind = KV_FIELD_INT64;
  CHECK(kv_read_fields(store, table, 1, &v, NULL) == KV_OK);
  table[0].mark_size = 3;
  CHECK(kv_read_fields(store, table, 1, &v, NULL) == KV_INVALID_ARGUMENT);
  table[0] = good;
  table[0].kind = KV_FIELD_TABLE;
  table[0].field_count = 1;
  CHECK(kv_read_fields(store, table, 1, &v, NULL) == KV_INVALID_ARGUMENT);
  table[0].fields = table; /* in itself */
  CHECK(kv_read_fields(store, table, 1, &v, NULL) == KV_LIMIT_EXCEEDED);
  table[0].path[0] = NULL;
  CHECK(kv_read_fields(store, table, 1, &v, NULL) == KV_INVALID_ARGUMENT);
  kv_field time = {KV_FIELD_TIME, 0, 2, 0, 0, 0, NULL, 0, {"saved"}};
  CHECK(kv_read_fields(store, &time, 1, &v, &error) == KV_INVALID_ARGUMENT);
  CHECK(error_says(error, KV_INVALID_ARGUMENT,
                   "the member of a KV_FIELD_TIME has 4 or 8 bytes at saved"));
  time.size = 4;
  CHECK(kv_read_fields(store, &time, 1, &v, NULL) == KV_OK);
  kv_store_free(store);
}

static void colliding_paths(void) {
  kv_store *store = store_of("{}");
  kv_error *error = NULL;
  struct values v = {0, 0};
  kv_field two[] = {
      {KV_FIELD_INT32, 0, 4, 0, 0, 0, NULL, 0, {"window", "width"}},
      {KV_FIELD_INT32, 0, 4, 0, 0, 0, NULL, 0, {"window", "width"}}};
  CHECK(kv_read_fields(store, two, 2, &v, &error) == KV_INVALID_ARGUMENT);
  CHECK(error_says(error, KV_INVALID_ARGUMENT,
                   "the path of one field begins with that of another at "
                   "window.width"));
  two[0].path[1] = NULL;
  CHECK(kv_read_fields(store, two, 2, &v, NULL) == KV_INVALID_ARGUMENT);
  CHECK(kv_write_fields(store, two, 2, NULL, &v, NULL) == KV_INVALID_ARGUMENT);
  two[0] = two[1];
  two[1].path[1] = NULL;
  CHECK(kv_read_fields(store, two, 2, &v, NULL) == KV_INVALID_ARGUMENT);
  two[1].path[1] = "height";
  CHECK(kv_read_fields(store, two, 2, &v, NULL) == KV_OK);
  kv_store_free(store);
}

static void absent_tables(void) {
  kv_store *store = store_of("{}");
  struct values v = {0, 0};
  CHECK(kv_read_fields(NULL, fields, count, &v, NULL) == KV_INVALID_ARGUMENT);
  CHECK(kv_read_fields(store, NULL, 1, &v, NULL) == KV_INVALID_ARGUMENT);
  CHECK(kv_read_fields(store, NULL, 0, &v, NULL) == KV_OK);
  CHECK(kv_read_fields(store, fields, count, NULL, NULL) ==
        KV_INVALID_ARGUMENT);
  CHECK(kv_write_fields(store, fields, count, NULL, NULL, NULL) ==
        KV_INVALID_ARGUMENT);
  CHECK(kv_write_fields(NULL, fields, count, NULL, &v, NULL) ==
        KV_INVALID_ARGUMENT);
  kv_store_free(store);
}

static void unended_text(void) {
  struct name {
    char text[4];
  } full = {{'f', 'u', 'l', 'l'}}, three = {"abc"};
  const kv_field table[] = {KV_FIELD(struct name, text, KV_FIELD_TEXT, "name")};
  kv_store *store = store_of("{}");
  kv_error *error = NULL;
  CHECK(kv_write_fields(store, table, 1, NULL, &full, &error) ==
        KV_INVALID_ARGUMENT);
  CHECK(error_says(error, KV_INVALID_ARGUMENT,
                   "Expected a NUL behind the text at name"));
  CHECK(kv_write_fields(store, table, 1, &three, &full, NULL) ==
        KV_INVALID_ARGUMENT);
  kv_step name = kv_key("name");
  CHECK(kv_store_get(store, &name, 1, NULL, NULL, NULL) == KV_ABSENT);
  CHECK(kv_write_fields(store, table, 1, NULL, &three, NULL) == KV_OK);
  CHECK(kv_read_fields(store, table, 1, &full, NULL) == KV_OK);
  CHECK(strcmp(full.text, "abc") == 0);
  kv_store_free(store);
}

static struct settings read_all(kv_store *store) {
  struct settings s;
  memset(&s, 0, sizeof s);
  CHECK(kv_read_fields(store, fields, count, &s, NULL) == KV_OK);
  return s;
}

/* Whether both structs have the same values: they give the same stores. */
static int are_same(const struct settings *left, const struct settings *right) {
  kv_store *stores[] = {store_of("{}"), store_of("{}")};
  kv_tree *trees[] = {NULL, NULL};
  CHECK(kv_write_fields(stores[0], fields, count, NULL, left, NULL) == KV_OK);
  CHECK(kv_write_fields(stores[1], fields, count, NULL, right, NULL) == KV_OK);
  for (int i = 0; i < 2; i++) {
    kv_store_snapshot(stores[i], &trees[i], NULL);
    kv_store_free(stores[i]);
  }
  int good = kv_tree_equal(trees[0], trees[1]);
  for (int i = 0; i < 2; i++) kv_tree_free(trees[i]);
  return good;
}

/* What one handle reads, another has from what was written. */
static void round_trip(void) {
  kv_store *store = store_of(everything), *other = store_of("{}");
  struct settings s = read_all(store), again, same;
  s.saved = 1790000000;
  s.opened = 0.25;
  CHECK(kv_write_fields(other, fields, count, NULL, &s, NULL) == KV_OK);
  again = read_all(other);
  CHECK(are_same(&s, &again));
  CHECK(again.saved == 1790000000 && again.opened == 0.25);
  kv_copy_fields(fields, count, &again, &same);
  CHECK(same.path != again.path && !strcmp(same.path, again.path));
  CHECK(are_same(&same, &again));
  kv_free_fields(fields, count, &s);
  kv_free_fields(fields, count, &again);
  kv_free_fields(fields, count, &same);
  kv_store_free(store);
  kv_store_free(other);
}

/* Differences alone are written, and what others did meanwhile stays. */
/* proves: G104 */
static void differences(void) {
  kv_store *store = store_of(everything);
  struct settings s = read_all(store), old;
  uint64_t generation = kv_store_generation(store);
  kv_copy_fields(fields, count, &s, &old);
  CHECK(kv_write_fields(store, fields, count, &old, &s, NULL) == KV_OK);
  CHECK(kv_store_generation(store) == generation);
  /* Others change a number, a title and a key that the table does not know. */
  kv_step i8[] = {kv_key("numbers"), kv_key("i8")};
  kv_step title[] = {kv_key("window"), kv_key("title")};
  kv_step unknown[] = {kv_key("window"), kv_key("new")};
  kv_store_set_integer(store, i8, 2, 1, NULL);
  kv_store_set_string(store, title, 2, kv_string("Theirs"), NULL);
  kv_store_set_integer(store, unknown, 2, 5, NULL);
  s.i16 = 2;
  s.window.width = 800;
  s.has_second = 0;
  free(s.path);
  s.path = NULL;
  s.size_count = 1;
  s.plugins[0].gain = 4;
  s.plugins[1].has_level = true;
  CHECK(kv_write_fields(store, fields, count, &old, &s, NULL) == KV_OK);
  CHECK(store_is(
      store,
      "{\"numbers\": {\"i8\": 1, \"i16\": 2, \"i32\": -2147483648,"
      " \"i64\": -9223372036854775808, \"u8\": 255, \"u16\": 65535,"
      " \"u32\": 4294967295, \"u64\": 18446744073709551615, \"f\": 0.5,"
      " \"d\": 1e300}, \"flag\": true, \"deep\": {\"er\": {\"switched\": "
      "true}}, \"a \\\"name\\\"\": \"seven77\","
      " \"window\": {\"width\": 800, \"height\": 480, \"title\": \"Theirs\","
      " \"new\": 5}, \"windows\": {}, \"sizes\": [1],"
      " \"tags\": [\"a\", \"seven77\"], \"urls\": [\"u\"], \"plugins\":"
      " [{\"name\": \"clock\", \"level\": 3, \"audio\": {\"gain\": 4.0},"
      " \"x\": 1, \"url\": \"v\"}, {\"name\": \"news\", \"y\": 2,"
      " \"level\": 0}]}"));
  kv_free_fields(fields, count, &s);
  kv_free_fields(fields, count, &old);
  kv_store_free(store);
}

/* A struct that comes to be takes nothing from what another put there. */
static void presence(void) {
  kv_store *store = store_of("{}");
  struct settings s = read_all(store), old = s;
  kv_step beside[] = {kv_key("windows"), kv_key("second"), kv_key("new")};
  s.has_second = 1;
  CHECK(kv_write_fields(store, &fields[17], 1, &old, &s, NULL) == KV_OK);
  CHECK(store_is(store,
                 "{\"windows\": {\"second\": {\"width\": 0, \"height\": 0}}}"));
  kv_store_set_integer(store, beside, 3, 5, NULL);
  s.second.height = 3;
  CHECK(kv_write_fields(store, &fields[17], 1, &old, &s, NULL) == KV_OK);
  CHECK(store_is(store,
                 "{\"windows\": {\"second\": {\"width\": 0, \"height\": 3,"
                 " \"new\": 5}}}"));
  kv_store_free(store);
}

/* Elements keep what their table does not know, wherever they go. */
static void elements(void) {
  static const char json[] =
      "{\"plugins\": [{\"name\": \"a\", \"level\": 1, \"x\": 1},"
      " {\"name\": \"b\", \"level\": 1, \"x\": 2},"
      " {\"name\": \"c\", \"level\": 1, \"x\": 3}]}";
  const kv_field *field = &fields[count - 1];
  kv_store *store = store_of(json);
  struct settings s = read_all(store), old = s;
  s.plugins[0] = old.plugins[2]; /* moved to the front */
  s.plugins[1] = old.plugins[1];
  s.plugins[1].has_level = false; /* changed where it was */
  s.plugins[2] = (struct plugin){.name = "d", .gain = 1}; /* new */
  CHECK(kv_write_fields(store, field, 1, &old, &s, NULL) == KV_OK);
  CHECK(store_is(store,
                 "{\"plugins\": [{\"name\": \"c\", \"level\": 1, \"x\": 3},"
                 " {\"name\": \"b\", \"x\": 2},"
                 " {\"name\": \"d\", \"audio\": {\"gain\": 1.0}}]}"));
  s.plugin_count = 5;
  kv_error *error = NULL;
  CHECK(kv_write_fields(store, field, 1, &old, &s, &error) ==
        KV_INVALID_ARGUMENT);
  CHECK(error_says(error, KV_INVALID_ARGUMENT,
                   "the count is larger than the array at plugins"));
  s = old = read_all(store);
  s.plugin_count = 0;
  CHECK(kv_write_fields(store, field, 1, &old, &s, NULL) == KV_OK);
  CHECK(store_is(store, "{\"plugins\": []}"));
  kv_store_free(store);
}

static void set_integer(kv_store *store, const char *key, int64_t index,
                        const char *inner, int64_t value) {
  kv_step path[] = {kv_key(key), kv_index(index), kv_key(inner ? inner : "")};
  CHECK(kv_store_set_integer(store, path, inner ? 3 : 2, value, NULL) == KV_OK);
}

static const kv_field *const arrays = &fields[count - 4];

/* What others changed inside of an array stays, as what does not differ. */
static kv_store *merge_others(void) {
  kv_store *store = store_of(
      "{\"plugins\": [{\"name\": \"a\", \"level\": 1, \"audio\":"
      " {\"gain\": 2}}, {\"name\": \"b\", \"level\": 1}],"
      " \"sizes\": [1, 2, 3], \"tags\": [\"a\", \"a\"]}");
  struct settings s = read_all(store), old = s;
  set_integer(store, "plugins", 1, "level", 77);
  set_integer(store, "plugins", 0, "x", 5);
  set_integer(store, "sizes", 0, NULL, 99);
  s.plugins[0].level = 2;
  s.sizes[2] = 1; /* what another element was */
  strcpy(s.tags[1], "b");
  CHECK(kv_write_fields(store, arrays, 4, &old, &s, NULL) == KV_OK);
  CHECK(store_is(store,
                 "{\"plugins\": [{\"name\": \"a\", \"level\": 2,"
                 " \"audio\": {\"gain\": 2}, \"x\": 5},"
                 " {\"name\": \"b\", \"level\": 77}],"
                 " \"sizes\": [99, 2, 1], \"tags\": [\"a\", \"b\"]}"));
  /* A member that neither struct has is another's. */
  s = read_all(store);
  s.plugins[1].has_level = false;
  old = s;
  s.plugins[1].gain = 3;
  s.plugins[0].has_level = false;
  CHECK(kv_write_fields(store, arrays, 4, &old, &s, NULL) == KV_OK);
  return store;
}

/* Where elements come and go, those that stay are as they were. */
static void merge_lengths(kv_store *store) {
  struct settings s = read_all(store), old = s;
  set_integer(store, "sizes", 1, NULL, 7);
  set_integer(store, "plugins", 1, "level", 78);
  s.sizes[0] = 2;
  s.sizes[1] = 1;
  s.sizes[2] = s.sizes[3] = 5;
  s.size_count = 4;
  s.plugins[2] = s.plugins[1];
  s.plugins[1] = (struct plugin){.name = "new", .gain = 1};
  s.plugin_count = 3;
  strcpy(s.tags[0], "b");
  s.tag_count = 1;
  CHECK(kv_write_fields(store, arrays, 4, &old, &s, NULL) == KV_OK);
  CHECK(store_is(store,
                 "{\"plugins\": [{\"name\": \"a\", \"audio\": {\"gain\": 2},"
                 " \"x\": 5}, {\"name\": \"new\", \"audio\": {\"gain\": 1.0}},"
                 " {\"name\": \"b\", \"level\": 78,"
                 " \"audio\": {\"gain\": 3.0}}],"
                 " \"sizes\": [7, 1, 5, 5], \"tags\": [\"b\"]}"));
  /* Others may make it longer or shorter meanwhile. */
  s = read_all(store);
  old = s;
  set_integer(store, "sizes", 4, NULL, 6);
  kv_step first[] = {kv_key("plugins"), kv_index(0)};
  kv_store_remove(store, first, 2, NULL);
  s.sizes[0] = 8;
  s.plugins[2].level = 79;
  CHECK(kv_write_fields(store, arrays, 4, &old, &s, NULL) == KV_OK);
  CHECK(store_is(store,
                 "{\"plugins\": [{\"name\": \"new\","
                 " \"audio\": {\"gain\": 1.0}}, {\"name\": \"b\","
                 " \"level\": 79, \"audio\": {\"gain\": 3.0}}],"
                 " \"sizes\": [8, 1, 5, 5, 6], \"tags\": [\"b\"]}"));
}

/* A value of another kind that others put there stays. */
static void merge_kinds(kv_store *store) {
  kv_step last[] = {kv_key("sizes"), kv_index(4)};
  kv_store_remove(store, last, 2, NULL);
  struct settings s = read_all(store), old = s;
  set_integer(store, "plugins", 0, NULL, 5);
  s.plugins[0].gain = 2;
  s.plugins[1].gain = 4;
  CHECK(kv_write_fields(store, arrays, 4, &old, &s, NULL) == KV_OK);
  CHECK(store_is(store,
                 "{\"plugins\": [5, {\"name\": \"b\", \"level\": 79,"
                 " \"audio\": {\"gain\": 4.0}}],"
                 " \"sizes\": [8, 1, 5, 5], \"tags\": [\"b\"]}"));
}

/* proves: G104 */
static void merging(void) {
  kv_store *store = merge_others();
  merge_lengths(store);
  merge_kinds(store);
  kv_store_free(store);
}

/* Numbers that do not differ keep what the member has no room for. */
static void untouched_numbers(void) {
  struct levels {
    float gains[4];
    int number;
  } s = {{0}, 0}, old;
  const kv_field table[] = {
      KV_FIELD_ARRAY(struct levels, gains, number, KV_FIELD_FLOAT, "gains")};
  kv_store *store = store_of("{\"gains\": [0.1, 0.2, 0.3]}");
  CHECK(kv_read_fields(store, table, 1, &s, NULL) == KV_OK && s.number == 3);
  old = s;
  s.gains[1] = 0.5F;
  CHECK(kv_write_fields(store, table, 1, &old, &s, NULL) == KV_OK);
  CHECK(store_is(store, "{\"gains\": [0.1, 0.5, 0.3]}"));
  old = s;
  s.gains[0] = s.gains[1];
  s.gains[1] = s.gains[2];
  s.number = 2;
  CHECK(kv_write_fields(store, table, 1, &old, &s, NULL) == KV_OK);
  CHECK(store_is(store, "{\"gains\": [0.5, 0.3]}"));
  /* Also where another made the array shorter. */
  old = s;
  kv_step last[] = {kv_key("gains"), kv_index(0)};
  kv_store_remove(store, last, 2, NULL);
  s.gains[0] = 0.75F;
  CHECK(kv_write_fields(store, table, 1, &old, &s, NULL) == KV_OK);
  CHECK(store_is(store, "{\"gains\": [0.75, 0.3]}"));
  kv_store_free(store);
}

/* What a struct removes is gone, with what its table does not know of it. */
static void removals(void) {
  struct removed {
    float volume;
    bool has_volume, has_window;
    struct window window;
    struct plugin plugins[3];
    int plugin_count;
  } s, old;
  const kv_field table[] = {
      KV_FIELD_OPTIONAL(struct removed, volume, has_volume, KV_FIELD_FLOAT,
                        "sound", "volume"),
      KV_FIELD_OPTIONAL_NESTED(struct removed, window, has_window,
                               window_fields, "windows", "main"),
      KV_FIELD_NESTED_ARRAY(struct removed, plugins, plugin_count,
                            plugin_fields, "plugins")};
  kv_store *store = store_of(
      "{\"sound\": {\"volume\": 0.1, \"x\": 1}, \"windows\": {\"main\":"
      " {\"width\": 1, \"x\": 2}, \"y\": 3}, \"plugins\":"
      " [{\"level\": 1, \"x\": 4}, {\"level\": 2.0, \"x\": 5},"
      " {\"level\": 3}], \"z\": 6}");
  memset(&s, 0, sizeof s);
  s.window.height = 480; /* a default that is not stored */
  CHECK(kv_read_fields(store, KV_FIELDS(table), &s, NULL) == KV_OK);
  CHECK(s.has_volume && s.has_window && s.plugin_count == 3);
  old = s;
  s.has_volume = s.has_window = false;
  s.plugins[0] = s.plugins[2];
  s.plugin_count = 1;
  /* Meanwhile another program adds an element. */
  kv_tree *added = parse("{\"level\": 9, \"x\": 7}");
  kv_step fourth[] = {kv_key("plugins"), kv_index(3)};
  CHECK(kv_store_set(store, fourth, 2, added, NULL, 0, NULL, NULL) == KV_OK);
  kv_tree_free(added);
  CHECK(kv_write_fields(store, KV_FIELDS(table), &old, &s, NULL) == KV_OK);
  CHECK(store_is(store,
                 "{\"sound\": {\"x\": 1}, \"windows\": {\"y\": 3},"
                 " \"plugins\": [{\"level\": 3},"
                 " {\"level\": 9, \"x\": 7}], \"z\": 6}"));
  kv_store_free(store);
}

/* A change of others wins over a removal. */
static void removed_and_changed(void) {
  kv_store *store = store_of(
      "{\"windows\": {\"second\": {\"width\": 1}}, \"plugins\":"
      " [{\"name\": \"a\", \"level\": 1}, {\"name\": \"b\"}]}");
  struct settings s = read_all(store), old = s;
  kv_step width[] = {kv_key("windows"), kv_key("second"), kv_key("width")};
  kv_store_set_integer(store, width, 3, 2, NULL);
  set_integer(store, "plugins", 0, "level", 2);
  s.has_second = 0;
  s.plugin_count = 0;
  CHECK(kv_write_fields(store, fields, count, &old, &s, NULL) == KV_OK);
  CHECK(store_is(store,
                 "{\"windows\": {\"second\": {\"width\": 2}}, \"plugins\":"
                 " [{\"name\": \"a\", \"level\": 2}]}"));
  kv_store_free(store);
}

/* Without an old struct the store becomes what the struct has. */
static void without_old(void) {
  const kv_field *window = &fields[16]; /* and the second one */
  const char json[] =
      "{\"window\": {\"width\": 640.0, \"height\": 480, \"x\": 1},"
      " \"windows\": {\"second\": {\"width\": 1, \"height\": 2, \"x\": 2},"
      " \"y\": 3}, \"z\": 4}";
  kv_store *store = store_of(json);
  struct settings s = read_all(store);
  uint64_t generation = kv_store_generation(store);
  CHECK(kv_write_fields(store, window, 2, NULL, &s, NULL) == KV_OK);
  CHECK(kv_store_generation(store) == generation && store_is(store, json));
  s.window.height = 500;
  s.has_second = 0;
  CHECK(kv_write_fields(store, window, 2, NULL, &s, NULL) == KV_OK);
  CHECK(store_is(store,
                 "{\"window\": {\"width\": 640.0, \"height\": 500,"
                 " \"x\": 1}, \"windows\": {\"y\": 3}, \"z\": 4}"));
  /* The write replaces a wrong value, and adds no key for an absent member. */
  kv_step path[] = {kv_key("window"), kv_key("width")};
  kv_store_set_string(store, path, 2, kv_string("wide"), NULL);
  CHECK(kv_write_fields(store, window, 2, NULL, &s, NULL) == KV_OK);
  CHECK(store_is(store,
                 "{\"window\": {\"width\": 640, \"height\": 500,"
                 " \"x\": 1}, \"windows\": {\"y\": 3}, \"z\": 4}"));
  kv_store_free(store);
  store = store_of("{}");
  CHECK(kv_write_fields(store, window, 2, NULL, &s, NULL) == KV_OK);
  CHECK(store_is(store, "{\"window\": {\"width\": 640, \"height\": 500}}"));
  kv_store_free(store);
}

static int refuse_path(void *refused, const kv_step *path, size_t steps,
                       const kv_tree *value) {
  (void)value;
  return steps && text_equals(path[0].key, refused);
}

/* Of several keys all change or none. */
static void refused_keys(void) {
  kv_store_options options = store_options(KV_ENGINE_MEMORY);
  kv_store *store = NULL;
  kv_error *error = NULL;
  options.check = refuse_path;
  options.check_context = "path";
  CHECK(kv_store_open_file(kv_string("e"), &options, &store, NULL) == KV_OK);
  CHECK(kv_store_import(store, kv_string("{\"flag\": true, \"tags\": [\"a\"]}"),
                        NULL, NULL) == KV_OK);
  struct settings s = read_all(store), old = s;
  s.flag = false;
  s.i8 = 5;
  s.path = "p";
  strcpy(s.tags[0], "b");
  s.window.width = 1;
  CHECK(kv_write_fields(store, fields, count, &old, &s, &error) == KV_REFUSED);
  CHECK(kv_error_status(error) == KV_REFUSED && path_length(error) == 1);
  kv_error_free(error);
  CHECK(store_is(store, "{\"flag\": true, \"tags\": [\"a\"]}"));
  kv_store_free(store);
}

/* A write that is refused leaves nothing, and says where. */
static void refused_writes(void) {
  kv_store *store = store_of("{\"numbers\": {\"i8\": 1}}");
  struct settings s = read_all(store), old = s;
  kv_error *error = NULL;
  s.i8 = 5;
  strcpy(s.tags[1], "\xFF");
  s.tag_count = 2;
  CHECK(kv_write_fields(store, fields, count, &old, &s, &error) ==
        KV_INVALID_VALUE);
  CHECK(error_says(error, KV_INVALID_VALUE,
                   "Expected UTF-8 in a string at tags[1], found invalid bytes "
                   "after 0; use data for bytes"));
  CHECK(store_is(store, "{\"numbers\": {\"i8\": 1}}"));
  s = old;
  s.plugin_count = 1;
  strcpy(s.plugins[0].name, "\xFF");
  CHECK(kv_write_fields(store, fields, count, &old, &s, &error) ==
        KV_INVALID_VALUE);
  CHECK(error_says(error, KV_INVALID_VALUE,
                   "Expected UTF-8 in a string at plugins[0].name, found "
                   "invalid bytes after 0; use data for bytes"));
  s = old;
  s.i8 = 5;
  kv_store_close(store, NULL);
  CHECK(kv_write_fields(store, fields, count, &old, &s, NULL) == KV_CLOSED);
  kv_store_free(store);
}

/* Files, too; and with a type whatever the table does not say. */
static void trees(void) {
  kv_registry *registry = kv_registry_new(NULL, 0);
  kv_type *type = NULL;
  kv_tree *tree = parse("{\"flag\": true, \"sizes\": [7]}");
  kv_error *error = NULL;
  struct settings s;
  memset(&s, 0, sizeof s);
  kv_registry_declare(registry, kv_string("struct T { sizes: [Int(1...5)] }"),
                      kv_string(""), NULL, NULL);
  CHECK(kv_registry_type(registry, kv_string("T"), &type, NULL) == KV_OK);
  CHECK(kv_tree_read_fields(tree, type, fields, count, &s, &error) ==
        KV_TYPE_MISMATCH);
  CHECK(error_says(error, KV_TYPE_MISMATCH,
                   "Expected 1...5 at sizes[0], found 7"));
  CHECK(!s.flag && !s.size_count);
  CHECK(kv_tree_read_fields(tree, NULL, fields, count, &s, NULL) == KV_OK);
  CHECK(s.flag && s.size_count == 1 && s.sizes[0] == 7);
  kv_tree_free(tree);
  tree = parse("[1]");
  CHECK(kv_tree_read_fields(tree, NULL, fields, count, &s, &error) ==
        KV_TYPE_MISMATCH);
  CHECK(
      error_says(error, KV_TYPE_MISMATCH, "Expected Dictionary, found Array"));
  kv_tree_free(tree);
  kv_type_free(type);
  kv_registry_free(registry);
}

static const char declared[] =
    "struct S {\n"
    "  \"numbers\": S_numbers = [:]\n"
    "  \"flag\": Bool = true\n"
    "  \"deep\": S_deep = [:]\n"
    "  \"opened\": Date = date(-0.5)\n"
    "  \"saved\": Date = date(-978307200)\n"
    "  \"a \\\"name\\\"\": String(...7) = \"seven77\"\n"
    "  \"path\": String = \"/tmp/\\u{1}\\\\x\"\n"
    "  \"window\": S_window = [:]\n"
    "  \"windows\": S_windows = [:]\n"
    "  \"sizes\": [Int32](...4) = [1, -2, 3]\n"
    "  \"tags\": [String(...7)](...3) = [\"a\", \"seven77\"]\n"
    "  \"urls\": [String](...3) = [\"u\"]\n"
    "  \"plugins\": [S_plugins](...4)?\n"
    "}\n"
    "struct S_numbers {\n"
    "  \"i8\": Int8 = -128\n"
    "  \"i16\": Int16 = -32768\n"
    "  \"i32\": Int32 = -2147483648\n"
    "  \"i64\": Int64 = -9223372036854775808\n"
    "  \"u8\": UInt8 = 255\n"
    "  \"u16\": UInt16 = 65535\n"
    "  \"u32\": UInt32 = 4294967295\n"
    "  \"u64\": UInt64 = 18446744073709551615\n"
    "  \"f\": Float = 0.5\n"
    "  \"d\": Double = 1.0000000000000001e+300\n"
    "}\n"
    "struct S_deep {\n"
    "  \"er\": S_deep_er = [:]\n"
    "}\n"
    "struct S_deep_er {\n"
    "  \"switched\": Bool = true\n"
    "}\n"
    "struct S_window {\n"
    "  \"width\": UInt16 = 640\n"
    "  \"height\": UInt16 = 480\n"
    "  \"title\": String = \"One\"\n"
    "}\n"
    "struct S_windows {\n"
    "  \"second\": S_windows_second?\n"
    "}\n"
    "struct S_windows_second {\n"
    "  \"width\": UInt16 = 1\n"
    "  \"height\": UInt16 = 0\n"
    "  \"title\": String?\n"
    "}\n"
    "struct S_plugins {\n"
    "  \"name\": String(...15)?\n"
    "  \"level\": Int32?\n"
    "  \"audio\": S_plugins_audio?\n"
    "  \"url\": String?\n"
    "}\n"
    "struct S_plugins_audio {\n"
    "  \"gain\": Double?\n"
    "}\n";

/* Structs on different ways have different names. */
static void names(void) {
  struct four {
    int32_t a, b, c, d;
  };
  static const kv_field inner[] = {
      KV_FIELD(struct four, a, KV_FIELD_INT32, "b_c", "x"),
      KV_FIELD(struct four, b, KV_FIELD_INT32, "b", "c", "y"),
  };
  struct outer {
    struct four four;
    int32_t e, f, g;
  };
  static const kv_field table[] = {
      KV_FIELD(struct outer, e, KV_FIELD_INT32, "a", "b", "z"),
      KV_FIELD(struct outer, f, KV_FIELD_INT32, "a_b", "y"),
      KV_FIELD(struct outer, g, KV_FIELD_INT32, "a b", "w"),
      KV_FIELD_NESTED(struct outer, four, inner, "a_"),
  };
  kv_registry *registry = kv_registry_new(NULL, 0);
  kv_type *type = NULL;
  kv_error *error = NULL;
  char *text = kv_fields_declaration("S", KV_FIELDS(table), NULL);
  CHECK(kv_registry_declare(registry, kv_string(text), kv_string(""), NULL,
                            &error) == KV_OK);
  if (error) printf("# %s\n%s", kv_error_message(error).data, text);
  CHECK(kv_registry_type(registry, kv_string("S"), &type, NULL) == KV_OK);
  kv_tree *tree = parse(
      "{\"a\": {\"b\": {\"z\": 1}}, \"a_b\": {\"y\": 2}, \"a b\": {\"w\":"
      " 3}, \"a_\": {\"b_c\": {\"x\": 4}, \"b\": {\"c\": {\"y\": 5}}}}");
  struct outer found = {{0, 0, 0, 0}, 0, 0, 0};
  CHECK(kv_tree_read_fields(tree, type, KV_FIELDS(table), &found, &error) ==
        KV_OK);
  CHECK(found.e == 1 && found.f == 2 && found.g == 3 && found.four.a == 4 &&
        found.four.b == 5);
  free(text);
  kv_tree_free(tree);
  kv_type_free(type);
  kv_registry_free(registry);
}

/* Text has bytes here, and characters in the type language. */
static void wide_text(void) {
  struct name {
    char text[8];
  } found = {"abc"};
  const kv_field table[] = {KV_FIELD(struct name, text, KV_FIELD_TEXT, "name")};
  kv_registry *registry = kv_registry_new(NULL, 0);
  kv_store_options options = store_options(KV_ENGINE_MEMORY);
  kv_store *store = NULL;
  kv_type *schema = NULL;
  kv_error *error = NULL;
  kv_step name = kv_key("name");
  char *text = kv_fields_declaration("Name", KV_FIELDS(table), NULL);
  CHECK(kv_registry_declare(registry, kv_string(text), kv_string(""), NULL,
                            NULL) == KV_OK);
  CHECK(kv_registry_type(registry, kv_string("Name"), &schema, NULL) == KV_OK);
  options.schema = schema;
  CHECK(kv_store_open_file(kv_string("d"), &options, &store, NULL) == KV_OK);
  CHECK(kv_store_set_string(store, &name, 1, kv_string("\u00E4bcdefgh"),
                            NULL) == KV_TYPE_MISMATCH);
  CHECK(kv_store_set_string(store, &name, 1, kv_string("\u00E4bcdefg"), NULL) ==
        KV_OK);
  CHECK(kv_read_fields(store, KV_FIELDS(table), &found, &error) ==
        KV_TYPE_MISMATCH);
  CHECK(error_says(error, KV_TYPE_MISMATCH,
                   "Expected ...7 bytes at name, found 8"));
  struct name written = {"\u00E4bcdef"};
  CHECK(kv_write_fields(store, KV_FIELDS(table), NULL, &written, NULL) ==
        KV_OK);
  CHECK(kv_read_fields(store, KV_FIELDS(table), &found, NULL) == KV_OK);
  CHECK(strcmp(found.text, written.text) == 0);
  free(text);
  kv_type_free(schema);
  kv_registry_free(registry);
  kv_store_free(store);
}

/* The table's own type: a schema, whose defaults are the struct's. */
static void declarations(void) {
  kv_store *store = store_of(everything), *typed = NULL;
  struct settings s = read_all(store), old;
  kv_registry *registry = kv_registry_new(NULL, 0);
  kv_store_options options = store_options(KV_ENGINE_MEMORY);
  kv_type *schema = NULL;
  kv_error *error = NULL;
  s.opened = -0.5;
  free(s.path);
  s.path = (char *)malloc(9);
  strcpy(s.path, "/tmp/\1\\x");
  setlocale(LC_ALL, "de_DE.UTF-8"); /* where a comma is the point */
  char *text = kv_fields_declaration("S", fields, count, &s);
  CHECK(!strcmp(text, declared));
  if (strcmp(text, declared)) printf("%s", text);
  CHECK(kv_registry_declare(registry, kv_string(text), kv_string(""), NULL,
                            &error) == KV_OK);
  if (error) printf("# %s\n", kv_error_message(error).data);
  free(text);
  text = kv_fields_declaration("T", fields, count, NULL);
  CHECK(kv_registry_declare(registry, kv_string(text), kv_string(""), NULL,
                            NULL) == KV_OK);
  CHECK(strstr(text, "\"numbers\": T_numbers?\n") != NULL);
  free(text);
  CHECK(kv_registry_type(registry, kv_string("S"), &schema, NULL) == KV_OK);
  options.schema = schema;
  CHECK(kv_store_open_file(kv_string("b"), &options, &typed, NULL) == KV_OK);
  kv_step flag = kv_key("flag");
  CHECK(kv_store_set_integer(typed, &flag, 1, 1, &error) == KV_TYPE_MISMATCH);
  CHECK(
      error_says(error, KV_TYPE_MISMATCH, "Expected Bool at flag, found Int"));
  /* An absent value has the schema's default; a refused one is refused. */
  struct settings filled;
  memset(&filled, 0, sizeof filled);
  CHECK(kv_read_fields(typed, fields, count, &filled, &error) == KV_OK);
  CHECK(filled.window.width == s.window.width && filled.flag == s.flag);
  kv_free_fields(fields, count, &filled);
  kv_copy_fields(fields, count, &s, &old);
  old.flag = false;
  s.window.width = 1024;
  CHECK(kv_write_fields(typed, fields, count, &old, &s, NULL) == KV_OK);
  s.path[5] = 2;
  CHECK(kv_write_fields(typed, fields, count, NULL, &s, NULL) ==
        KV_INVALID_VALUE); /* XML has no control characters */
  kv_free_fields(fields, count, &s);
  kv_free_fields(fields, count, &old);
  kv_type_free(schema);
  kv_registry_free(registry);
  kv_store_free(store);
  kv_store_free(typed);
}

/* Under a schema whose fields have other names than their keys, the table has
 * the keys. */
static void renamed(void) {
  static const kv_field field[] = {
      KV_FIELD_NESTED_ARRAY(S, plugins, plugin_count, plugin_fields, "list")};
  kv_registry *registry = kv_registry_new(NULL, 0);
  kv_store_options options = store_options(KV_ENGINE_MEMORY);
  kv_store *store = NULL;
  kv_type *schema = NULL;
  kv_error *error = NULL;
  CHECK(kv_registry_declare(
            registry,
            kv_string("struct P { title: String @key(name);"
                      " height: Int(0...9)? @key(level); sound: A? @key(audio);"
                      " link: String? @key(url) }"
                      "struct A { volume: Double @key(gain) }"
                      "struct R { plugins: [P] = [] @key(list) }"),
            kv_string(""), NULL, NULL) == KV_OK);
  CHECK(kv_registry_type(registry, kv_string("R"), &schema, NULL) == KV_OK);
  options.schema = schema;
  CHECK(kv_store_open_file(kv_string("c"), &options, &store, NULL) == KV_OK);
  struct settings s = {0}, old = {0}, found = {0};
  s.plugin_count = 2;
  strcpy(s.plugins[0].name, "a");
  strcpy(s.plugins[1].name, "b");
  s.plugins[1].has_level = true;
  s.plugins[1].level = 3;
  s.plugins[1].gain = 0.5;
  CHECK(kv_write_fields(store, field, 1, &old, &s, &error) == KV_OK);
  if (error) printf("# %s\n", kv_error_message(error).data);
  CHECK(store_is(store,
                 "{\"list\": [{\"name\": \"a\", \"audio\": {\"gain\": 0.0}},"
                 " {\"name\": \"b\", \"level\": 3,"
                 " \"audio\": {\"gain\": 0.5}}]}"));
  CHECK(kv_read_fields(store, field, 1, &found, NULL) == KV_OK);
  CHECK(found.plugin_count == 2 && found.plugins[1].level == 3 &&
        found.plugins[1].gain == 0.5 && !found.plugins[0].has_level &&
        strcmp(found.plugins[1].name, "b") == 0);
  old = s;
  s.plugins[0] = old.plugins[1];
  s.plugins[1] = old.plugins[0];
  s.plugins[0].level = 4;
  CHECK(kv_write_fields(store, field, 1, &old, &s, NULL) == KV_OK);
  old = s;
  s.plugins[0].level = 10;
  CHECK(kv_write_fields(store, field, 1, &old, &s, &error) == KV_TYPE_MISMATCH);
  CHECK(error_says(error, KV_TYPE_MISMATCH,
                   "Expected 0...9 at list[0].level, found 10"));
  CHECK(store_is(store,
                 "{\"list\": [{\"name\": \"b\", \"level\": 4,"
                 " \"audio\": {\"gain\": 0.5}},"
                 " {\"name\": \"a\", \"audio\": {\"gain\": 0.0}}]}"));
  kv_free_fields(field, 1, &found);
  kv_type_free(schema);
  kv_registry_free(registry);
  kv_store_free(store);
}

/* Two programs with a struct each lose nothing of one another's. */
/* proves: G104 */
static void two_programs(const char *name) {
  kv_store *stores[2];
  struct settings s[2], old[2];
  for (int i = 0; i < 2; i++) {
    CHECK(kv_store_open_file(kv_string(in_folder(name)), NULL, &stores[i],
                             NULL) == KV_OK);
    s[i] = read_all(stores[i]);
    old[i] = s[i];
  }
  s[0].i32 = 7;
  s[1].u8 = 8;
  s[1].window.height = 9;
  CHECK(kv_write_fields(stores[0], fields, count, &old[0], &s[0], NULL) ==
        KV_OK);
  CHECK(kv_write_fields(stores[1], fields, count, &old[1], &s[1], NULL) ==
        KV_OK);
  struct settings found = read_all(stores[0]);
  CHECK(found.i32 == 7 && found.u8 == 8 && found.window.height == 9);
  CHECK(store_is(stores[0],
                 "{\"numbers\": {\"i32\": 7, \"u8\": 8},"
                 " \"window\": {\"height\": 9}}"));
  for (int i = 0; i < 2; i++) kv_store_free(stores[i]);
}

/* A write is part of the thread's transaction; with immediate durability it is
 * on the disk when it returns. */
static void durability(void) {
  kv_store_options options = store_options(KV_ENGINE_AUTOMATIC);
  kv_str file = kv_string(in_folder("c.plist"));
  kv_store *store = NULL;
  kv_transaction *transaction = NULL;
  kv_tree *written = NULL,
          *expected = parse("{\"flag\": true, \"sizes\": [1]}");
  options.durability = KV_IMMEDIATE;
  CHECK(kv_store_open_file(file, &options, &store, NULL) == KV_OK);
  struct settings s = read_all(store), old = s;
  s.flag = true;
  s.sizes[0] = 1;
  s.size_count = 1;
  CHECK(kv_store_begin(store, 0, &transaction, NULL) == KV_OK);
  CHECK(kv_write_fields(store, fields, count, &old, &s, NULL) == KV_OK);
  CHECK(store_is(store, "{\"flag\": true, \"sizes\": [1]}"));
  kv_transaction_rollback(transaction);
  CHECK(store_is(store, "{}"));
  CHECK(kv_write_fields(store, fields, count, &old, &s, NULL) == KV_OK);
  CHECK(kv_read_file(file, NULL, NULL, &written, NULL, NULL) == KV_OK);
  CHECK(kv_tree_equal(written, expected));
  kv_tree_free(written);
  kv_tree_free(expected);
  kv_store_free(store);
}

/* ---- Random changes of two programs, beside a model of their merge */

struct item {
  int32_t id, level;
};

struct list {
  struct item items[12];
  int item_count;
};

static const kv_field item_fields[] = {
    KV_FIELD(struct item, id, KV_FIELD_INT32, "id"),
    KV_FIELD(struct item, level, KV_FIELD_INT32, "now", "level"),
};

static const kv_field list_fields[] = {
    KV_FIELD_NESTED_ARRAY(struct list, items, item_count, item_fields, "list",
                          "items"),
};

/* The levels of items by their ids; 0 for no item. */
enum { item_ids = 12, shared_ids = 8 };
typedef int32_t levels[item_ids];

static uint32_t random_state = 1;

static uint32_t random_below(uint32_t limit) {
  random_state = random_state * 1664525 + 1013904223;
  return (random_state >> 8) % limit;
}

/* Changes some items; adds one that the other side never adds. */
static void change_levels(levels changed, int own_id) {
  for (int i = 0; i < shared_ids; i++) {
    uint32_t what = random_below(6);
    if (what == 0) changed[i] = 0;
    if (what == 1 && changed[i]) changed[i] = 1 + (int32_t)random_below(9);
  }
  if (random_below(2)) changed[own_id] = 1 + (int32_t)random_below(9);
}

static int32_t merged_level(int32_t old, int32_t ours, int32_t theirs) {
  if (ours == old) return theirs;
  if (theirs == old) return ours;
  return ours ? ours : theirs; /* a change wins over a removal */
}

/* Stores items, each with a key that the table does not know. */
static void store_levels(kv_store *store, const levels stored) {
  kv_step path[] = {kv_key("list"), kv_key("items")};
  char text[1024] = "[";
  for (int i = 0; i < item_ids; i++) {
    char item[80];
    if (!stored[i]) continue;
    snprintf(item, sizeof item,
             "%s{\"id\": %d, \"now\": {\"level\": %d, \"x\": %d}}",
             text[1] ? "," : "", i, stored[i], i);
    strcat(text, item);
  }
  kv_tree *tree = parse(strcat(text, "]"));
  kv_store_set(store, path, 2, tree, NULL, 0, NULL, NULL);
  kv_tree_free(tree);
}

static struct list list_of(const levels from) {
  struct list list;
  memset(&list, 0, sizeof list);
  for (int i = 0; i < item_ids; i++)
    if (from[i]) list.items[list.item_count++] = (struct item){i, from[i]};
  return list;
}

/* Whether the store has these items; those that were stored with their keys. */
static int has_levels(kv_store *store, const levels expected,
                      const levels written) {
  levels found = {0};
  struct list list = {{{0, 0}}, 0};
  int good = !kv_read_fields(store, KV_FIELDS(list_fields), &list, NULL);
  for (int i = 0; i < list.item_count; i++) {
    kv_step path[] = {kv_key("list"), kv_key("items"), kv_index(i),
                      kv_key("now"), kv_key("x")};
    int64_t x = -1;
    int32_t id = list.items[i].id;
    kv_store_get_integer(store, path, 5, &x, NULL);
    good = good && id >= 0 && id < item_ids && !found[id] &&
           x == (written[id] ? id : -1);
    if (good) found[id] = list.items[i].level;
  }
  return good && !memcmp(found, expected, sizeof(levels));
}

/* proves: G104 */
static void random_changes(void) {
  kv_store *store = store_of("{}");
  int good = 1;
  for (int round = 0; round < 500 && good; round++) {
    levels old = {0}, ours, theirs, expected, stored;
    for (int i = 0; i < shared_ids; i++)
      if (random_below(3)) old[i] = 1 + (int32_t)random_below(9);
    memcpy(ours, old, sizeof old);
    memcpy(theirs, old, sizeof old);
    change_levels(ours, shared_ids);
    change_levels(theirs, shared_ids + 1);
    for (int i = 0; i < item_ids; i++) {
      expected[i] = merged_level(old[i], ours[i], theirs[i]);
      stored[i] = theirs[i];
    }
    store_levels(store, theirs);
    struct list before = list_of(old), now = list_of(ours);
    good =
        !kv_write_fields(store, KV_FIELDS(list_fields), &before, &now, NULL) &&
        has_levels(store, expected, stored);
    if (!good) printf("# round %d\n", round);
  }
  CHECK_NAMED(good, "random changes of two programs are merged by element");
  kv_store_free(store);
}

/* Another program, which changes what a daemon has in its struct. */
static int change_as_another(const char *file) {
  kv_store *store = NULL;
  kv_step i8[] = {kv_key("numbers"), kv_key("i8")};
  kv_step title[] = {kv_key("window"), kv_key("title")};
  kv_step unknown[] = {kv_key("window"), kv_key("new")};
  kv_step second[] = {kv_key("plugins"), kv_index(1)};
  kv_step last[] = {kv_key("plugins"), kv_index(2)};
  kv_step tag[] = {kv_key("tags"), kv_index(1)};
  kv_tree *added = parse("{\"name\": \"added\", \"x\": 4}");
  int good = !kv_store_open_file(kv_string(file), NULL, &store, NULL) &&
             !kv_store_set_integer(store, i8, 2, 1, NULL) &&
             !kv_store_set_string(store, title, 2, kv_string("Theirs"), NULL) &&
             !kv_store_set_integer(store, unknown, 2, 5, NULL) &&
             !kv_store_remove(store, second, 2, NULL) &&
             !kv_store_set(store, last, 2, added, NULL, 0, NULL, NULL) &&
             !kv_store_set_string(store, tag, 2, kv_string("b"), NULL) &&
             !kv_store_close(store, NULL);
  kv_tree_free(added);
  kv_store_free(store);
  return good ? 0 : 1;
}

static const char *program;

/* Runs this program as another one. */
static int run_another(const char *file) {
  int status = -1;
  pid_t child = fork();
  if (child == 0) {
    execl(program, program, file, (char *)NULL);
    _exit(127);
  }
  return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

/* A program that keeps its struct reverts nothing of what others change. */
/* proves: G104 */
static void daemons(const char *name) {
  const char *file = in_folder(name);
  kv_store *store = NULL, *other = NULL;
  CHECK(kv_store_open_file(kv_string(file), NULL, &store, NULL) == KV_OK);
  CHECK(kv_store_import(
            store,
            kv_string("{\"numbers\": {\"i8\": 0}, \"window\": {\"width\":"
                      " 640, \"title\": \"Ours\"}, \"plugins\":"
                      " [{\"name\": \"a\", \"x\": 1},"
                      " {\"name\": \"b\", \"x\": 2},"
                      " {\"name\": \"c\", \"x\": 3}], \"tags\": [\"a\"]}"),
            NULL, NULL) == KV_OK);
  CHECK(kv_store_sync(store, NULL) == KV_OK);
  struct settings s = read_all(store), old;
  kv_copy_fields(fields, count, &s, &old);
  CHECK(run_another(file));
  s.window.width = 800;
  s.plugins[2].gain = 2;
  CHECK(kv_write_fields(store, fields, count, &old, &s, NULL) == KV_OK);
  CHECK(kv_store_sync(store, NULL) == KV_OK);
  const char expected[] =
      "{\"numbers\": {\"i8\": 1}, \"window\": {\"width\": 800,"
      " \"title\": \"Theirs\", \"new\": 5}, \"plugins\":"
      " [{\"name\": \"a\", \"x\": 1}, {\"name\": \"c\", \"x\": 3,"
      " \"audio\": {\"gain\": 2.0}}, {\"name\": \"added\", \"x\": 4}],"
      " \"tags\": [\"a\", \"b\"]}";
  CHECK(store_is(store, expected));
  /* The same struct again, which knows nothing of all that. */
  kv_free_fields(fields, count, &old);
  kv_copy_fields(fields, count, &s, &old);
  s.window.width = 640;
  CHECK(kv_write_fields(store, fields, count, &old, &s, NULL) == KV_OK);
  s.window.width = 800;
  old.window.width = 640;
  CHECK(kv_write_fields(store, fields, count, &old, &s, NULL) == KV_OK);
  CHECK(kv_store_close(store, NULL) == KV_OK);
  CHECK(kv_store_open_file(kv_string(file), NULL, &other, NULL) == KV_OK);
  CHECK(store_is(other, expected));
  kv_free_fields(fields, count, &s);
  kv_free_fields(fields, count, &old);
  kv_store_free(store);
  kv_store_free(other);
}

int main(int argument_count, char **arguments) {
  if (argument_count == 2) return change_as_another(arguments[1]);
  program = arguments[0];
  make_folder();
  reading();
  refusals();
  conversions();
  wrong_fields();
  colliding_paths();
  absent_tables();
  unended_text();
  round_trip();
  differences();
  presence();
  elements();
  merging();
  untouched_numbers();
  removals();
  removed_and_changed();
  without_old();
  refused_keys();
  durability();
  random_changes();
  refused_writes();
  trees();
  declarations();
  names();
  wide_text();
  renamed();
  two_programs("a.plist");
  two_programs("a.sqlite");
  daemons("b.plist");
  daemons("b.sqlite");
  remove_folder();
  return finish_checks();
}
