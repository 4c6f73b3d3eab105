/* memory.c: copies of structs, and the memory of their strings. */
#include "CKVFields.h"

void *kv_fields_memory(void *old, size_t size) {
  void *memory = realloc(old, size ? size : 1);
  if (!memory) abort();
  return memory;
}

static void copy_element(const kv_field *field, const char *source,
                         char *target) {
  if (field->kind == KV_FIELD_TABLE) {
    kv_copy_fields(field->fields, field->field_count, source, target);
  } else if (field->kind == KV_FIELD_STRING) {
    kv_str text = kv_field_text(field, source);
    char *memory = NULL;
    if (text.data) {
      memory = kv_fields_memory(NULL, text.length + 1);
      memcpy(memory, text.data, text.length + 1);
    }
    memcpy(target, &memory, sizeof memory);
  } else {
    memcpy(target, source, field->size);
  }
}

void kv_copy_fields(const kv_field *fields, size_t count, const void *from,
                    void *to) {
  if (!kv_fields_may_be(fields, count) || !from || !to) return;
  for (size_t i = 0; i < count; i++) {
    const kv_field *field = &fields[i];
    size_t elements = field->room ? field->room : 1;
    memcpy((char *)to + field->mark, (const char *)from + field->mark,
           field->mark_size);
    for (size_t j = 0; j < elements; j++) {
      size_t offset = field->offset + j * field->size;
      copy_element(field, (const char *)from + offset, (char *)to + offset);
    }
  }
}

static void free_element(const kv_field *field, char *target) {
  char *memory = NULL;
  if (field->kind == KV_FIELD_TABLE) {
    kv_free_fields(field->fields, field->field_count, target);
  } else if (field->kind == KV_FIELD_STRING) {
    memcpy(&memory, target, sizeof memory);
    free(memory);
    memory = NULL;
    memcpy(target, &memory, sizeof memory);
  }
}

void kv_free_fields(const kv_field *fields, size_t count, void *values) {
  if (!kv_fields_may_be(fields, count) || !values) return;
  for (size_t i = 0; i < count; i++) {
    const kv_field *field = &fields[i];
    size_t elements = field->room ? field->room : 1;
    char *target = (char *)values + field->offset;
    for (size_t j = 0; j < elements; j++)
      free_element(field, target + j * field->size);
  }
}
