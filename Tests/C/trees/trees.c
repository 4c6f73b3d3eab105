/* trees.c: builders, cursors, setting, errors. */
#include "check.h"
static kv_tree *sample(void) {
  kv_tree *tree = NULL;
  kv_builder *builder = kv_builder_new();
  kv_builder_begin_dictionary(builder, NULL);
  kv_builder_key(builder, kv_string("width"), NULL);
  kv_builder_integer(builder, 640, NULL);
  kv_builder_key(builder, kv_string("tags"), NULL);
  kv_builder_begin_array(builder, NULL);
  kv_builder_string(builder, kv_string("a"), NULL);
  kv_builder_boolean(builder, 1, NULL);
  kv_builder_end(builder, NULL);
  kv_builder_key(builder, kv_string("ratio"), NULL);
  kv_builder_real(builder, 0.5, NULL);
  kv_builder_key(builder, kv_string("big"), NULL);
  kv_builder_unsigned(builder, UINT64_MAX, NULL);
  kv_builder_key(builder, kv_string("when"), NULL);
  kv_builder_date(builder, 1.5, NULL);
  kv_builder_key(builder, kv_string("id"), NULL);
  kv_builder_uid(builder, 7, NULL);
  kv_builder_key(builder, kv_string("bytes"), NULL);
  kv_builder_data(builder, kv_string("\x01\x02"), NULL);
  kv_builder_key(builder, kv_string("nothing"), NULL);
  kv_builder_null(builder, NULL);
  kv_builder_end(builder, NULL);
  if (kv_builder_finish(builder, &tree, NULL) != KV_OK) tree = NULL;
  kv_builder_free(builder);
  return tree;
}

static void read_tree(const kv_tree *tree) {
  kv_cursor root = kv_tree_root(tree), value, element;
  kv_str text;
  int boolean;
  int64_t integer;
  uint64_t number, state = 0;
  uint32_t uid;
  double real;
  CHECK(kv_cursor_kind(&root) == KV_DICTIONARY);
  CHECK(kv_cursor_count(&root) == 8);
  CHECK(kv_cursor_key(&root, kv_string("width"), &value) == KV_OK);
  CHECK(kv_cursor_integer(&value, &integer) == KV_OK && integer == 640);
  CHECK(kv_cursor_real(&value, &real) == KV_OK && real == 640);
  CHECK(kv_cursor_string(&value, &text) == KV_TYPE_MISMATCH);
  CHECK(kv_cursor_key(&root, kv_string("none"), &value) == KV_ABSENT);
  CHECK(kv_cursor_key(&root, kv_string("big"), &value) == KV_OK);
  CHECK(kv_cursor_integer(&value, &integer) == KV_TYPE_MISMATCH);
  CHECK(kv_cursor_unsigned(&value, &number) == KV_OK && number == UINT64_MAX);
  CHECK(kv_cursor_key(&root, kv_string("when"), &value) == KV_OK);
  CHECK(kv_cursor_date(&value, &real) == KV_OK && real == 1.5);
  CHECK(kv_cursor_key(&root, kv_string("id"), &value) == KV_OK);
  CHECK(kv_cursor_uid(&value, &uid) == KV_OK && uid == 7);
  CHECK(kv_cursor_key(&root, kv_string("bytes"), &value) == KV_OK);
  CHECK(kv_cursor_data(&value, &text) == KV_OK && text.length == 2);
  CHECK(kv_cursor_key(&root, kv_string("nothing"), &value) == KV_OK);
  CHECK(kv_cursor_kind(&value) == KV_NULL);
  CHECK(kv_cursor_key(&root, kv_string("tags"), &value) == KV_OK);
  CHECK(kv_cursor_next(&value, &state, &element) == KV_OK);
  CHECK(kv_cursor_string(&element, &text) == KV_OK && text_equals(text, "a"));
  CHECK(kv_cursor_next(&value, &state, &element) == KV_OK);
  CHECK(kv_cursor_boolean(&element, &boolean) == KV_OK && boolean == 1);
  CHECK(kv_cursor_next(&value, &state, &element) == KV_ABSENT);
  CHECK(kv_cursor_entry(&root, 0, &text, &value) == KV_OK);
  CHECK(text_equals(text, "big"));
  CHECK(kv_cursor_entry(&root, 8, &text, &value) == KV_ABSENT);
}

static void set_and_remove(const kv_tree *tree) {
  kv_tree *value = NULL, *changed = NULL, *removed = NULL, *copy = NULL;
  kv_error *error = NULL;
  kv_builder *builder = kv_builder_new();
  kv_step path[3] = {kv_key("tags"), kv_index(2), kv_key("x")};
  kv_cursor root, found;
  int64_t integer;
  kv_builder_integer(builder, 9, NULL);
  CHECK(kv_builder_finish(builder, &value, NULL) == KV_OK);
  CHECK(kv_tree_set(tree, path, 2, value, &changed, &error) == KV_OK);
  root = kv_tree_root(changed);
  CHECK(kv_cursor_path(&root, path, 2, &found) == KV_OK);
  CHECK(kv_cursor_integer(&found, &integer) == KV_OK && integer == 9);
  CHECK(kv_cursor_copy(&found, &copy) == KV_OK);
  CHECK(kv_tree_equal(copy, value) == 1);
  CHECK(kv_tree_equal(changed, tree) == 0);
  CHECK(kv_tree_remove(changed, path, 2, &removed, NULL) == KV_OK);
  CHECK(kv_tree_equal(removed, tree) == 1);
  CHECK(kv_tree_remove(tree, path, 2, &removed, NULL) == KV_ABSENT);
  CHECK(kv_tree_set(changed, path, 3, value, NULL, &error) == KV_PATH_MISMATCH);
  CHECK(error_says(error, KV_PATH_MISMATCH,
                   "Expected Dictionary at tags[2], found Int"));
  kv_builder_free(builder);
  kv_tree_free(value);
  kv_tree_free(copy);
  kv_tree_free(changed);
  kv_tree_free(removed);
}

static void reject_bad_text(void) {
  kv_error *error = NULL;
  kv_builder *builder = kv_builder_new();
  kv_str bad = {"a\xFF", 2}, missing = {NULL, 3};
  CHECK(kv_builder_string(builder, bad, &error) == KV_INVALID_VALUE);
  CHECK(strstr(kv_error_message(error).data, "UTF-8") != NULL);
  kv_error_free(error);
  CHECK(kv_builder_string(builder, missing, &error) == KV_INVALID_ARGUMENT);
  kv_error_free(error);
  CHECK(kv_builder_end(builder, &error) == KV_MISUSE);
  kv_error_free(error);
  kv_builder_free(builder);
}

/* A tree built around a piece of another. */
static void build_from_cursor(const kv_tree *tree) {
  kv_builder *builder = kv_builder_new();
  kv_cursor root = kv_tree_root(tree), tags;
  kv_tree *list = NULL, *expected = parse("[[\"a\", true]]");
  CHECK(kv_cursor_key(&root, kv_string("tags"), &tags) == KV_OK);
  CHECK(kv_builder_begin_array(builder, NULL) == KV_OK);
  CHECK(kv_builder_cursor(builder, &tags, NULL) == KV_OK);
  CHECK(kv_builder_end(builder, NULL) == KV_OK);
  CHECK(kv_builder_finish(builder, &list, NULL) == KV_OK);
  CHECK(kv_tree_equal(list, expected));
  kv_builder_free(builder);
  kv_tree_free(list);
  kv_tree_free(expected);
}

/* Calls in an order that makes no sense, each on a builder of its own. */
static void misuse(void) {
  kv_builder *builder = kv_builder_new();
  kv_tree *tree = NULL;
  int levels = 0;
  CHECK(kv_builder_finish(builder, &tree, NULL) == KV_MISUSE);
  CHECK(kv_builder_key(builder, kv_string("a"), NULL) == KV_MISUSE);
  kv_builder_free(builder);
  builder = kv_builder_new();
  CHECK(kv_builder_begin_dictionary(builder, NULL) == KV_OK);
  CHECK(kv_builder_integer(builder, 1, NULL) == KV_MISUSE);
  kv_builder_free(builder);
  builder = kv_builder_new();
  CHECK(kv_builder_begin_dictionary(builder, NULL) == KV_OK);
  CHECK(kv_builder_key(builder, kv_string("a"), NULL) == KV_OK);
  CHECK(kv_builder_key(builder, kv_string("b"), NULL) == KV_MISUSE);
  kv_builder_free(builder);
  builder = kv_builder_new();
  CHECK(kv_builder_begin_array(builder, NULL) == KV_OK);
  CHECK(kv_builder_finish(builder, &tree, NULL) == KV_MISUSE);
  kv_builder_free(builder);
  builder = kv_builder_new();
  while (kv_builder_begin_array(builder, NULL) == KV_OK) levels++;
  CHECK(levels == 512);
  CHECK(tree == NULL);
  kv_builder_free(builder);
}

int main(void) {
  kv_tree *tree = sample();
  CHECK(tree != NULL);
  read_tree(tree);
  set_and_remove(tree);
  build_from_cursor(tree);
  reject_bad_text();
  misuse();
  kv_tree_free(tree);
  return finish_checks();
}
