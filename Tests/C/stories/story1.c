/* story1.c: types that a property list cannot hold. A shape is read from a file
 * as a declared type, its colours become structs of the program, and it is
 * saved as another file. */
#define _XOPEN_SOURCE 700
#include "check.h"

/* Colours are arrays of four numbers in the file: red, green and blue from 0 to
 * 255, alpha from 0 to 1. */
struct color {
  double red, green, blue, alpha;
};

static const char declaration[] =
    "struct Shape { width: Double; height: Double; borderWidth: Double;"
    " cornerRadius: Double; isVisible: Bool;"
    " backgroundColorValues: [Double]; borderColorValues: [Double];"
    " patternImageData: Data? }";

/* The field's colour, or `otherwise` where its array has not four numbers. */
static struct color color_of(const kv_tree *shape, const char *field,
                             struct color otherwise) {
  kv_cursor root = kv_tree_root(shape), list, element;
  uint64_t state = 0;
  double values[4];
  if (kv_cursor_key(&root, kv_string(field), &list) != KV_OK ||
      kv_cursor_count(&list) != 4)
    return otherwise;
  for (int i = 0; i < 4; i++)
    if (kv_cursor_next(&list, &state, &element) != KV_OK ||
        kv_cursor_real(&element, &values[i]) != KV_OK)
      return otherwise;
  return (struct color){values[0] / 255, values[1] / 255, values[2] / 255,
                        values[3]};
}

/* The image's bytes, borrowed; none where there are no bytes. */
static kv_str image_of(const kv_tree *shape) {
  kv_cursor root = kv_tree_root(shape), field;
  kv_str image = {NULL, 0};
  if (kv_cursor_key(&root, kv_string("patternImageData"), &field) == KV_OK)
    kv_cursor_data(&field, &image);
  return image;
}

static void add_number(kv_builder *builder, const char *field, double value) {
  kv_builder_key(builder, kv_string(field), NULL);
  kv_builder_real(builder, value, NULL);
}

static void add_color(kv_builder *builder, const char *field,
                      struct color color) {
  kv_builder_key(builder, kv_string(field), NULL);
  kv_builder_begin_array(builder, NULL);
  kv_builder_real(builder, color.red * 255, NULL);
  kv_builder_real(builder, color.green * 255, NULL);
  kv_builder_real(builder, color.blue * 255, NULL);
  kv_builder_real(builder, color.alpha, NULL);
  kv_builder_end(builder, NULL);
}

/* A shape with these colours; no image leaves its key out. */
static kv_tree *changed_shape(struct color background, struct color border,
                              kv_str image) {
  kv_builder *builder = kv_builder_new();
  kv_tree *tree = NULL;
  kv_builder_begin_dictionary(builder, NULL);
  add_number(builder, "width", 300);
  add_number(builder, "height", 150);
  add_number(builder, "borderWidth", 2.5);
  add_number(builder, "cornerRadius", 12);
  add_color(builder, "backgroundColorValues", background);
  add_color(builder, "borderColorValues", border);
  kv_builder_key(builder, kv_string("isVisible"), NULL);
  kv_builder_boolean(builder, 1, NULL);
  if (image.length > 0) {
    kv_builder_key(builder, kv_string("patternImageData"), NULL);
    kv_builder_data(builder, image, NULL);
  }
  kv_builder_end(builder, NULL);
  CHECK(kv_builder_finish(builder, &tree, NULL) == KV_OK);
  kv_builder_free(builder);
  return tree;
}

static void change_shape(const kv_type *type) {
  const struct color black = {0, 0, 0, 1};
  kv_str mine = kv_string(in_folder("myShape.plist"));
  kv_tree *shape = NULL, *changed = NULL, *again = NULL;
  struct color background, border;
  kv_cursor root;
  CHECK(kv_read_file(kv_string("Tests/Data/DefaultShape.plist"), NULL, type,
                     &shape, NULL, NULL) == KV_OK);
  background = color_of(shape, "backgroundColorValues", black);
  border = color_of(shape, "borderColorValues", black);
  CHECK(background.red == 1 && background.green == 0.8 &&
        background.alpha == 1);
  CHECK_NAMED(border.red == 0 && border.alpha == 1,
              "an array that has not four numbers leaves the default");
  CHECK_NAMED(image_of(shape).length == 0, "empty data is no image");
  background.green = 0;
  border.blue = 1;
  changed = changed_shape(background, border, image_of(shape));
  CHECK(kv_write_file(mine, changed, KV_FORMAT_XML, type, NULL) == KV_OK);
  CHECK(kv_read_file(mine, NULL, type, &again, NULL, NULL) == KV_OK);
  CHECK(kv_tree_equal(changed, again));
  root = kv_tree_root(again);
  CHECK_NAMED(
      kv_cursor_key(&root, kv_string("patternImageData"), &root) == KV_ABSENT,
      "no image leaves the key out");
  kv_tree_free(shape);
  kv_tree_free(changed);
  kv_tree_free(again);
}

static void keep_image(const kv_type *type) {
  const struct color black = {0, 0, 0, 1};
  static const char bytes[] = {(char)0x89, 'P'};
  kv_str mine = kv_string(in_folder("image.plist"));
  kv_tree *shape = changed_shape(black, black, (kv_str){bytes, sizeof bytes});
  kv_tree *again = NULL;
  kv_str image;
  CHECK(kv_write_file(mine, shape, KV_FORMAT_BINARY, type, NULL) == KV_OK);
  CHECK(kv_read_file(mine, NULL, type, &again, NULL, NULL) == KV_OK);
  image = image_of(again);
  CHECK_NAMED(image.length == sizeof bytes && memcmp(image.data, bytes, 2) == 0,
              "an image's bytes are kept");
  kv_tree_free(shape);
  kv_tree_free(again);
}

static void refuse_wrong_type(const kv_type *type) {
  kv_tree *wrong = parse("{\"width\": \"wide\"}");
  kv_error *error = NULL;
  CHECK(kv_write_file(kv_string(in_folder("wrong.plist")), wrong, KV_FORMAT_XML,
                      type, &error) == KV_TYPE_MISMATCH);
  CHECK(error_says(error, KV_TYPE_MISMATCH,
                   "Expected Double at width, found String"));
  CHECK(access(in_folder("wrong.plist"), F_OK) != 0);
  kv_tree_free(wrong);
}

int main(void) {
  kv_registry *registry = kv_registry_new(NULL, 0);
  kv_type *type = NULL;
  make_folder();
  CHECK(kv_registry_declare(registry, kv_string(declaration), kv_string(""),
                            NULL, NULL) == KV_OK);
  CHECK(kv_registry_type(registry, kv_string("Shape"), &type, NULL) == KV_OK);
  change_shape(type);
  keep_image(type);
  refuse_wrong_type(type);
  kv_type_free(type);
  kv_registry_free(registry);
  remove_folder();
  return finish_checks();
}
