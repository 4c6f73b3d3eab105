/* stack.c: the deepest values, typed and compared on a thread with no more stack
 * than the header asks for ("Stack"), and set and read as they are on one with
 * little: a thread with too little ends the program. */
/* proves: G103 */
#include <pthread.h>

#include "check.h"

enum { STACK = 2 << 20, SMALL = 64 << 10, TEXT = 1 << 14 };

typedef struct Shape {
  const char *name;
  const char *type;
  int levels; /* of which each opens one or two containers; 511 in all */
  const char *opening, *good, *bad, *closing;
} Shape;

static const char declared[] =
    "struct Link { next: Link?; value: Int? }\n"
    "struct Node { list: [Node]; value: Int? }\n"
    "struct Name { names: [String: Name]?; value: Int? }\n"
    "indirect enum Chain { end(Int), link(Chain) }";

static const Shape shapes[] = {
    {"structs", "Link", 511, "{\"next\":", "{\"value\":1}", "{\"value\":\"x\"}",
     "}"},
    {"arrays", "Node", 255, "{\"list\":[", "{\"list\":[],\"value\":1}",
     "{\"list\":[],\"value\":\"x\"}", "]}"},
    {"dictionaries", "Name", 255, "{\"names\":{\"x\":", "{\"value\":1}",
     "{\"value\":\"x\"}", "}}"},
    {"enums", "Chain", 254, "{\"link\":{\"_0\":", "{\"end\":{\"_0\":1}}",
     "{\"end\":{\"_0\":\"x\"}}", "}}"},
};

static kv_tree *nested(const Shape *shape, const char *inner) {
  static char text[TEXT];
  size_t length = 0;
  for (int i = 0; i < shape->levels; i++)
    length += (size_t)sprintf(text + length, "%s", shape->opening);
  length += (size_t)sprintf(text + length, "%s", inner);
  for (int i = 0; i < shape->levels; i++)
    length += (size_t)sprintf(text + length, "%s", shape->closing);
  return parse(text);
}

/* Both ways, and over what is stored, for a value and for one that is wrong in
 * its innermost part. */
static void convert(const Shape *shape, const kv_type *type) {
  kv_tree *good = nested(shape, shape->good), *bad = nested(shape, shape->bad);
  kv_tree *shown = NULL, *stored = NULL;
  CHECK(kv_type_decode(type, good, &shown, NULL) == KV_OK);
  CHECK(kv_type_encode(type, shown, good, 0, &stored, NULL) == KV_OK);
  CHECK_NAMED(kv_tree_equal(stored, good), shape->name);
  CHECK(kv_type_decode(type, bad, NULL, NULL) == KV_TYPE_MISMATCH);
  CHECK(kv_type_encode(type, bad, good, 0, NULL, NULL) == KV_TYPE_MISMATCH);
  kv_tree_free(shown);
  kv_tree_free(stored);
  kv_tree_free(good);
  kv_tree_free(bad);
}

/* A store, whose key is a level, holds what one level less has. It takes the
 * value, and refuses the wrong one; reads it, writes it all, and removes it. */
static void keep(const Shape *shape, kv_format format, const kv_type *type,
                 kv_status refusal) {
  Shape less = *shape;
  kv_step key = kv_key("key");
  kv_store_options options = {.size = sizeof options};
  kv_store *store = NULL;
  kv_tree *found = NULL;
  kv_bytes text = {0};
  less.levels--;
  options.engine = KV_ENGINE_MEMORY;
  options.format = format;
  kv_tree *good = nested(&less, less.good), *bad = nested(&less, less.bad);
  CHECK(kv_store_open(kv_string("scratch"), &options, &store, NULL) == KV_OK);
  for (int turn = 0; turn < 2; turn++)
    CHECK(kv_store_set(store, &key, 1, good, type, 0, NULL, NULL) == KV_OK);
  CHECK(kv_store_set(store, &key, 1, bad, type, 0, NULL, NULL) == refusal);
  CHECK(kv_store_get(store, &key, 1, type, &found, NULL) == KV_OK);
  CHECK(kv_store_export(store, format, &text, NULL) == KV_OK);
  CHECK(kv_store_remove(store, &key, 1, NULL) == KV_OK);
  kv_bytes_free(&text);
  kv_tree_free(found);
  kv_tree_free(good);
  kv_tree_free(bad);
  kv_store_free(store);
}

static void *run(void *registry) {
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
    kv_type *type = NULL;
    CHECK(kv_registry_type(registry, kv_string(shapes[i].type), &type, NULL) ==
          KV_OK);
    convert(&shapes[i], type);
    keep(&shapes[i], KV_FORMAT_XML, type, KV_TYPE_MISMATCH);
    kv_type_free(type);
  }
  return NULL;
}

/* Values of which the whole is known to fit, and values of which, in XML, a set
 * looks at each; a null does in all formats. */
static const Shape plain[] = {
    {"plain dictionaries", NULL, 511, "{\"next\":", "1", "null", "}"},
    {"dictionaries", NULL, 511, "{\"next\":", "\"\u00e9\"", "null", "}"},
    {"arrays", NULL, 511, "[", "\"\u00e9\"", "null", "]"},
};

static void *run_plain(void *unused) {
  const kv_format formats[] = {KV_FORMAT_XML, KV_FORMAT_BINARY, KV_FORMAT_JSON};
  (void)unused;
  for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
    for (size_t f = 0; f < sizeof formats / sizeof *formats; f++)
      keep(&plain[i], formats[f], NULL, KV_INVALID_VALUE);
  return NULL;
}

/* Runs it on a thread of its own with that stack, in bytes. */
static void run_with(size_t stack, void *(*body)(void *), void *argument) {
  pthread_attr_t attributes;
  pthread_t thread;
  CHECK(pthread_attr_init(&attributes) == 0);
  CHECK(pthread_attr_setstacksize(&attributes, stack) == 0);
  CHECK(pthread_create(&thread, &attributes, body, argument) == 0);
  CHECK(pthread_join(thread, NULL) == 0);
  pthread_attr_destroy(&attributes);
}

int main(void) {
  kv_registry *registry = kv_registry_new(NULL, 0);
  CHECK(kv_registry_declare(registry, kv_string(declared), kv_string(""), NULL,
                            NULL) == KV_OK);
  run_with(STACK, run, registry);
  run_with(SMALL, run_plain, NULL);
  kv_registry_free(registry);
  return finish_checks();
}
