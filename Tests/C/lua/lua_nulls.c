/* lua_nulls.c: every pointer argument of kvcodable_lua.h as NULL, and every
 * other argument as something that no caller should give. The rows are made
 * from the header by rows.py. */
/* proves: G100 */
#include <limits.h>

#include "lua_support.h"

/* Good arguments, made anew for each row. */
struct fixture {
  lua_State *L; /* a store's handle at index 1 */
  kv_store *store;
  kv_tree *tree;
  kv_step path[1];
  kv_lua_options options;
  kv_error *error;
  /* What calls write. */
  kv_tree *out_tree;
  kv_store *out_store;
  kv_step out_step;
  size_t out_size;
} g;

static void make_row(void) {
  memset(&g, 0, sizeof g);
  g.L = new_state(0);
  g.store = new_store("{\"window\": {\"width\": 7}}");
  g.tree = parse("[1]");
  g.path[0] = kv_key("window");
  g.options.size = sizeof g.options;
  CHECK(kv_lua_push_store(g.L, g.store, NULL, 0, 0, NULL) == KV_OK);
}

static void free_row(void) {
  kv_tree_free(g.out_tree);
  kv_store_free(g.out_store);
  kv_tree_free(g.tree);
  kv_store_free(g.store);
  kv_error_free(g.error);
  lua_close(g.L);
}

/* Nothing was written or pushed. */
static int is_refused(kv_status status) {
  return status == KV_INVALID_ARGUMENT && !g.out_tree && !g.out_store &&
         g.out_size == 0 && lua_gettop(g.L) == 1;
}

#include "rows.h"

int main(void) {
#include "lua_null_rows.h"
  return finish_checks();
}
