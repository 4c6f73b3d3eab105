/* main.c: a program built from an installed library alone. Prints the library's
 * version when a value goes into a store and comes back. */
#include <kvcodable.h>
#include <stdio.h>

int main(void) {
  kv_store *store = NULL;
  kv_error *error = NULL;
  kv_step path[2] = {kv_key("window"), kv_key("width")};
  int64_t width = 0;
  if (kv_store_open(kv_string("org.example.consumer"), NULL, &store, &error) ==
          KV_OK &&
      kv_store_set_integer(store, path, 2, 640, &error) == KV_OK)
    kv_store_get_integer(store, path, 2, &width, &error);
  if (error) printf("%s\n", kv_error_message(error).data);
  kv_error_free(error);
  kv_store_free(store);
  printf("kvcodable %s\n", kv_version());
  return width == 640 ? 0 : 1;
}
