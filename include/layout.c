/* The layouts that all languages rely on, checked where they are compiled.
 * (The file also makes SwiftPM notice that a header changed.) */
#include <stddef.h>

#include "kvcodable.h"
#include "kvcodable_nodes.h"

_Static_assert(sizeof(kv_node) == 16, "a node is 16 bytes");
_Static_assert(offsetof(kv_node, count) == 4, "count follows head");
_Static_assert(offsetof(kv_node, payload) == 8, "payload is last");
