/* limits.c: what large and damaged files cost, each read in a process of its
 * own: time, and memory above the file's size.
 *
 * Sizes are in megabytes; LIMITS_SIZE sets that of damaged files (40). */
/* proves: G78 */
#define _DEFAULT_SOURCE
#include "cost.h"

#include <malloc.h>
#include <sys/mman.h>

/* ---- Files: a beginning, a part again and again, and an end */

typedef struct sample {
  const char *name;
  kv_format format;
  const char *begin, *part, *end;
} sample;

static const sample damaged[] = {
    {"JSON of numbers", KV_FORMAT_JSON, "[1", ",1", "x]"},
    {"JSON of keys", KV_FORMAT_JSON, "{\"\":1", ",\"\":1", "x}"},
    {"JSON of arrays", KV_FORMAT_JSON, "[[]", ",[[]]", "x]"},
    {"JSON of one string", KV_FORMAT_JSON, "[\"", "text ", "\",x]"},
    {"JSON of one key", KV_FORMAT_JSON, "{\"", "text ", "\":x}"},
    {"JSON of escapes", KV_FORMAT_JSON, "[\"", "\\n", "\",x]"},
    {"XML of booleans", KV_FORMAT_XML, "<plist><array>", "<true/>",
     "<x/></array></plist>"},
    {"XML of keys", KV_FORMAT_XML, "<plist><dict>", "<key/><true/>",
     "<x/></dict></plist>"},
    {"XML of one string", KV_FORMAT_XML, "<plist><array><string>", "text ",
     "</string><x/></array></plist>"},
    {"XML of one data", KV_FORMAT_XML, "<plist><data>", "AAAA",
     "A</data></plist>"},
    {"XML without an end", KV_FORMAT_XML, "<plist><array>",
     "<integer>1</integer>", ""},
    {"OpenStep of strings", KV_FORMAT_OPENSTEP, "(a", ",a", " x)"},
    {"OpenStep of keys", KV_FORMAT_OPENSTEP, "{", "a;", "x}"},
    {"OpenStep of one data", KV_FORMAT_OPENSTEP, "(<", "00", ">,,)"},
    {"OpenStep in a comment", KV_FORMAT_OPENSTEP, "/*", "text ", ""},
};

/* Pages of its own, so that they count as the file and nothing else. */
static file map(size_t size) {
  file result = {NULL, 0};
  void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) abort();
  result.data = memory;
  return result;
}

static void append(file *to, const char *bytes, size_t length) {
  memcpy(to->data + to->length, bytes, length);
  to->length += length;
}

static file make(const sample *kind, size_t size) {
  size_t part = strlen(kind->part);
  file result = map(size + 4096);
  append(&result, kind->begin, strlen(kind->begin));
  while (result.length + part < size) append(&result, kind->part, part);
  append(&result, kind->end, strlen(kind->end));
  return result;
}

static void append_number(file *to, uint64_t number, int bytes) {
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) {
    char byte = (char)(number >> shift);
    append(to, &byte, 1);
  }
}

/* An array of `count` references to a true, or to a string of `length` bytes,
 * and of one to a set. */
static file make_binary(size_t count, size_t length) {
  file result = map(count + length + 4096);
  size_t scalar, set, table;
  append(&result, "bplist00\xaf\x13", 10);
  append_number(&result, count + 1, 8);
  memset(result.data + result.length, 1, count);
  result.length += count;
  append_number(&result, 2, 1);
  scalar = result.length;
  append_number(&result, length ? 0x5f13 : 0x09, length ? 2 : 1);
  if (length) append_number(&result, length, 8);
  memset(result.data + result.length, 'a', length);
  result.length += length;
  set = result.length;
  append_number(&result, 0xc0, 1);
  table = result.length;
  append_number(&result, 8, 8);
  append_number(&result, scalar, 8);
  append_number(&result, set, 8);
  append_number(&result, 0x0801, 8); /* sizes of offsets and references */
  append_number(&result, 3, 8);
  append_number(&result, 0, 8);
  append_number(&result, table, 8);
  return result;
}

/* ---- Checks */

/* A rejected file takes what an accepted one takes: at most 16 bytes for each
 * value and key, of which there is at most one for each byte, and their text. */
static const size_t most_per_byte = 18;

static void check_rejected(const char *name, file bytes, kv_format format) {
  cost found = measure(&bytes, format);
  char what[200];
  snprintf(what, sizeof what,
           "%s, %zu MB, is rejected in %.1f MB above it, %.2f s", name,
           bytes.length / MEGABYTE, (double)found.memory / 1048576,
           found.seconds);
  CHECK_NAMED(
      (found.status == KV_MALFORMED || found.status == KV_INVALID_VALUE) &&
          found.memory <= most_per_byte * bytes.length,
      what);
  munmap(bytes.data, bytes.length);
}

/* Twice the file may take a little more than twice the time: best of three. */
static void check_linear(const sample *kind, size_t size, size_t count) {
  double best[2] = {1e9, 1e9};
  char what[200];
  cost found = {0, 0, 0, 0};
  for (int scale = 1; scale <= 2; scale++) {
    file bytes = make(kind, size * (size_t)scale);
    for (int run = 0; run < 3; run++) {
      found = measure(&bytes, kind->format);
      if (found.seconds < best[scale - 1]) best[scale - 1] = found.seconds;
    }
    munmap(bytes.data, bytes.length);
  }
  snprintf(what, sizeof what, "%s is read in linear time: %.3f and %.3f s",
           kind->name, best[0], best[1]);
  CHECK_NAMED(found.status == KV_OK && found.count >= count &&
                  best[1] < 4 * best[0] + 0.1,
              what);
}

static void check_nested(const char *name, const char *part, kv_format format) {
  sample kind = {name, format, "", part, ""};
  size_t levels = 1000000;
  file bytes = make(&kind, levels * strlen(part) + 1);
  cost found = measure(&bytes, format);
  CHECK_NAMED(found.status == KV_LIMIT_EXCEEDED, name);
  CHECK(found.seconds < 0.5 && found.memory < MEGABYTE * 64);
  munmap(bytes.data, bytes.length);
}

/* Keys that come in no order, in a dictionary of `count`. */
static void check_keys(size_t count) {
  double best[2] = {1e9, 1e9};
  cost found = {0, 0, 0, 0};
  char what[120];
  for (size_t scale = 1; scale <= 2; scale++) {
    size_t keys = count * scale / 2;
    file bytes = map(keys * 24 + 64);
    append(&bytes, "{", 1);
    for (size_t i = 0; i < keys; i++) {
      char entry[32];
      int length = snprintf(entry, sizeof entry, "%s\"k%zu\":1", i ? "," : "",
                            (i * 7919) % keys);
      append(&bytes, entry, (size_t)length);
    }
    append(&bytes, "}", 1);
    for (int run = 0; run < 3; run++) {
      found = measure(&bytes, KV_FORMAT_JSON);
      if (found.seconds < best[scale - 1]) best[scale - 1] = found.seconds;
    }
    munmap(bytes.data, bytes.length);
  }
  snprintf(what, sizeof what, "%zu keys are read in %.3f s, half in %.3f s",
           count, best[1], best[0]);
  CHECK_NAMED(found.status == KV_OK && found.count == count &&
                  best[1] < 5 * best[0] + 0.1,
              what);
}

/* The size of a tree: 16 bytes for each value and key, and their text. */
static size_t tree_size(const kv_cursor *value) {
  size_t size = 16, index = 0;
  uint64_t state = 0;
  kv_cursor inner;
  kv_str key;
  if (kv_cursor_kind(value) == KV_DICTIONARY) {
    for (; kv_cursor_entry(value, index, &key, &inner) == KV_OK; index++)
      size += 16 + key.length + tree_size(&inner);
  } else if (kv_cursor_kind(value) == KV_ARRAY) {
    while (kv_cursor_next(value, &state, &inner) == KV_OK)
      size += tree_size(&inner);
  } else {
    size += kv_cursor_count(value);
  }
  return size;
}

/* Records of numbers and strings of their own, and of some that they share. */
static kv_tree *records(size_t count) {
  kv_builder *builder = kv_builder_new();
  kv_tree *tree = NULL;
  kv_builder_begin_array(builder, NULL);
  for (size_t i = 0; i < count; i++) {
    char text[64];
    kv_builder_begin_dictionary(builder, NULL);
    kv_builder_key(builder, kv_string("identifier"), NULL);
    kv_builder_integer(builder, (int64_t)i, NULL);
    kv_builder_key(builder, kv_string("balance"), NULL);
    kv_builder_real(builder, (double)i + 0.25, NULL);
    kv_builder_key(builder, kv_string("mail"), NULL);
    snprintf(text, sizeof text, "person%zu@example.org", i);
    kv_builder_string(builder, kv_string(text), NULL);
    kv_builder_key(builder, kv_string("tags"), NULL);
    kv_builder_begin_array(builder, NULL);
    for (size_t tag = 0; tag < 3; tag++) {
      snprintf(text, sizeof text, "tag%zu", (i + tag) % 50);
      kv_builder_string(builder, kv_string(text), NULL);
    }
    kv_builder_end(builder, NULL);
    kv_builder_end(builder, NULL);
  }
  kv_builder_end(builder, NULL);
  kv_builder_finish(builder, &tree, NULL);
  kv_builder_free(builder);
  return tree;
}

/* A file is written in its own size and 1 MB, and read in the tree's. */
static void check_peaks(const char *name, kv_format format, size_t count) {
  kv_tree *tree = records(count);
  kv_cursor root = kv_tree_root(tree);
  kv_bytes written = {NULL, 0};
  file bytes;
  cost writing = measure_apart(NULL, tree, format), reading;
  char what[160];
  snprintf(what, sizeof what, "%s of %.2f MB is written in %.2f MB", name,
           (double)writing.count / 1e6, (double)writing.memory / 1e6);
  CHECK_NAMED(writing.status == KV_OK && writing.count > 8000000 &&
                  writing.memory <= writing.count + MEGABYTE,
              what);
  kv_encode(tree, format, NULL, &written, NULL);
  bytes.data = written.data;
  bytes.length = written.length;
  reading = measure(&bytes, format);
  snprintf(what, sizeof what, "%s: a tree of %.2f MB is read in %.2f MB", name,
           (double)tree_size(&root) / 1e6, (double)reading.memory / 1e6);
  CHECK_NAMED(reading.status == KV_OK && reading.count == count &&
                  reading.memory <= tree_size(&root) + MEGABYTE,
              what);
  kv_bytes_free(&written);
  kv_tree_free(tree);
}

int main(void) {
  const char *wanted = getenv("LIMITS_SIZE");
  size_t size = (wanted ? strtoul(wanted, NULL, 10) : 40) * MEGABYTE;
  static const sample strings[] = {
      {"XML of one string, 100 MB", KV_FORMAT_XML, "<plist><string>", "text ",
       "</string></plist>"},
      {"JSON of one string, 100 MB", KV_FORMAT_JSON, "\"", "text ", "\""},
      {"OpenStep of one string, 100 MB", KV_FORMAT_OPENSTEP, "\"", "text ",
       "\""}};
  /* Blocks from 64 KB on go back to the system when they are freed, so that
   * none of them hides a later one. */
  mallopt(M_MMAP_THRESHOLD, 65536);
  check_peaks("XML", KV_FORMAT_XML, 30000);
  check_peaks("binary", KV_FORMAT_BINARY, 100000);
  check_peaks("JSON", KV_FORMAT_JSON, 80000);
  for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++) {
    check_rejected(damaged[i].name, make(&damaged[i], size), damaged[i].format);
  }
  check_rejected("binary of references", make_binary(size, 0),
                 KV_FORMAT_BINARY);
  check_rejected("binary of one string", make_binary(1, size),
                 KV_FORMAT_BINARY);
  check_rejected("binary of a string twice", make_binary(2, size / 2),
                 KV_FORMAT_BINARY);
  for (size_t i = 0; i < sizeof strings / sizeof *strings; i++)
    check_linear(&strings[i], 50 * MEGABYTE, 99 * MEGABYTE);
  check_keys(1000000);
  check_nested("1,000,000 arrays in JSON", "[", KV_FORMAT_JSON);
  check_nested("1,000,000 arrays in XML", "<array>", KV_FORMAT_XML);
  check_nested("1,000,000 arrays in OpenStep", "(", KV_FORMAT_OPENSTEP);
  return finish_checks();
}
