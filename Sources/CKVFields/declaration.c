/* declaration.c: a table's struct in the type language. */
#include "CKVFields.h"

#include <stdio.h>

/* A text that grows. */
typedef struct buffer {
  char *data;
  size_t length;
} buffer;

static void say(buffer *text, const char *words) {
  size_t length = strlen(words);
  text->data = kv_fields_memory(text->data, text->length + length + 1);
  memcpy(text->data + text->length, words, length + 1);
  text->length += length;
}

/* ---- Literals */

static void say_quoted(buffer *text, kv_str words) {
  char piece[16];
  say(text, "\"");
  for (size_t i = 0; i < words.length; i++) {
    unsigned char byte = (unsigned char)words.data[i];
    if (byte < 32 || byte == 127)
      snprintf(piece, sizeof piece, "\\u{%x}", (unsigned)byte);
    else if (byte == '"' || byte == '\\')
      snprintf(piece, sizeof piece, "\\%c", byte);
    else
      snprintf(piece, sizeof piece, "%c", byte);
    say(text, piece);
  }
  say(text, "\"");
}

/* Says a number with a point, whatever the locale has. */
static void say_real(buffer *text, const char *format, double value) {
  char number[64];
  snprintf(number, sizeof number, format, value);
  for (char *at = number; *at; at++)
    if (!strchr("0123456789+-e", *at)) *at = '.';
  say(text, number);
}

static void say_integer(buffer *text, const kv_field *field,
                        const char *source) {
  char number[32];
  if (kv_field_is_signed(field->kind))
    snprintf(number, sizeof number, "%lld",
             (long long)kv_field_integer(source, field->size));
  else
    snprintf(number, sizeof number, "%llu",
             (unsigned long long)kv_field_bits(source, field->size));
  say(text, number);
}

/* Appends the literal of a number or date. Gives false for a value without
 * a literal, such as NaN. */
static bool say_number(buffer *text, const kv_field *field,
                       const char *source) {
  double real = kv_field_real(field, source);
  if (real - real != 0) return false;
  bool is_date = field->kind == KV_FIELD_DATE || field->kind == KV_FIELD_TIME;
  if (is_date) say(text, "date(");
  say_real(text, field->kind == KV_FIELD_FLOAT ? "%.9g" : "%.17g", real);
  if (is_date) say(text, ")");
  return true;
}

/* Says the literal of a member; false if the type language has none for it. */
static bool say_value(buffer *text, const kv_field *field, const char *source) {
  if (field->kind == KV_FIELD_TABLE) return false;
  if (field->kind == KV_FIELD_BOOL) {
    say(text, kv_field_bits(source, field->size) ? "true" : "false");
  } else if (kv_field_is_signed(field->kind) ||
             kv_field_is_unsigned(field->kind)) {
    say_integer(text, field, source);
  } else if (field->kind == KV_FIELD_TEXT || field->kind == KV_FIELD_STRING) {
    kv_str words = kv_field_text(field, source);
    if (!words.data) return false;
    say_quoted(text, words);
  } else {
    return say_number(text, field, source);
  }
  return true;
}

/* ---- Fields */

/* Says the default behind a field, or the mark of one that may be absent. */
static void say_default(buffer *text, const kv_field *field,
                        const char *defaults) {
  size_t start = text->length;
  bool is_said = defaults && !kv_field_is_optional(field);
  size_t elements = is_said ? kv_field_elements(field, defaults) : 0;
  say(text, field->room ? " = [" : " = ");
  if (is_said && field->kind == KV_FIELD_TABLE && !field->room) {
    say(text, "[:]");
  } else {
    for (size_t i = 0; i < elements && is_said; i++) {
      if (i) say(text, ", ");
      is_said =
          say_value(text, field, defaults + field->offset + i * field->size);
    }
  }
  if (field->room) say(text, "]");
  if (is_said) return;
  text->length = start;
  say(text, "?");
}

/* Says the type of a field. `below` is the name of its struct, if it has
 * one. */
static void say_type(buffer *text, const kv_field *field, const char *below) {
  char limit[32];
  if (field->room) say(text, "[");
  say(text, below ? below : kv_field_type_name(field->kind));
  if (field->kind == KV_FIELD_TEXT) {
    snprintf(limit, sizeof limit, "(...%zu)", field->size - 1);
    say(text, limit);
  }
  if (!field->room) return;
  snprintf(limit, sizeof limit, "](...%zu)", field->room);
  say(text, limit);
}

/* ---- Structs */

/* Gives a name for the struct at a key of another, one that is not yet among
 * the names, which have a line each. The result is memory for free(). */
static char *new_name(buffer *names, const char *name, const char *key) {
  buffer made = {NULL, 0};
  char letter[2] = "";
  say(&made, "\n");
  say(&made, name);
  say(&made, "_");
  for (; *key; key++) {
    unsigned char byte = (unsigned char)*key;
    bool is_word = byte >= 128 || (byte >= '0' && byte <= '9') ||
                   ((byte | 32) >= 'a' && (byte | 32) <= 'z');
    letter[0] = is_word ? *key : '_';
    say(&made, letter);
  }
  say(&made, "\n");
  while (strstr(names->data, made.data)) {
    made.data[made.length - 1] = '_';
    say(&made, "\n");
  }
  say(names, made.data + 1);
  made.data[made.length - 1] = 0;
  memmove(made.data, made.data + 1, made.length - 1);
  return made.data;
}

/* The fields of a struct: those of a table that share the first `depth` keys of
 * `first`. */
typedef struct structure {
  const char *name;
  const kv_field *fields;
  size_t count;
  const kv_field *first;
  int depth;
  const char *defaults;
} structure;

static void declare(buffer *text, buffer *names, structure one);

/* Says one field, and declares the struct that it needs in `inner`. */
static void declare_field(buffer *text, buffer *inner, buffer *names,
                          structure one, const kv_field *field) {
  const char *key = field->path[one.depth], *defaults = one.defaults;
  bool is_last = kv_field_ends(field, one.depth);
  bool is_struct = !is_last || field->kind == KV_FIELD_TABLE;
  char *below = is_struct ? new_name(names, one.name, key) : NULL;
  say(text, "  ");
  say_quoted(text, kv_string(key));
  say(text, ": ");
  if (is_last) {
    say_type(text, field, below);
    say_default(text, field, defaults);
  } else {
    say(text, below);
    say(text, defaults ? " = [:]" : "?");
  }
  say(text, "\n");
  structure next = {below, one.fields,    one.count,
                    field, one.depth + 1, defaults};
  if (is_last)
    next =
        (structure){below,
                    field->fields,
                    field->field_count,
                    field->fields,
                    0,
                    defaults && !field->room ? defaults + field->offset : NULL};
  if (is_struct) declare(inner, names, next);
  free(below);
}

/* Declares a struct, and behind it those that it needs. */
static void declare(buffer *text, buffer *names, structure one) {
  buffer inner = {NULL, 0};
  say(text, "struct ");
  say(text, one.name);
  say(text, " {\n");
  for (size_t i = 0; i < one.count; i++) {
    const kv_field *field = &one.fields[i];
    if (!kv_field_shares(field, one.first, one.depth)) continue;
    if (!kv_field_ends(field, one.depth) &&
        kv_field_is_repeated(one.fields, i, one.depth))
      continue;
    declare_field(text, &inner, names, one, field);
  }
  say(text, "}\n");
  if (inner.data) say(text, inner.data);
  free(inner.data);
}

char *kv_fields_declaration(const char *name, const kv_field *fields,
                            size_t count, const void *defaults) {
  buffer text = {NULL, 0}, names = {NULL, 0};
  kv_walk walk = kv_walk_begin(NULL);
  if (!name || kv_fields_check(&walk, fields, count)) return NULL;
  say(&names, "\n");
  say(&names, name);
  say(&names, "\n");
  declare(&text, &names, (structure){name, fields, count, fields, 0, defaults});
  free(names.data);
  return text.data;
}
