/* The header that a Swift host imports to open the Lua module in its states. */
#include <kvcodable_lua.h>
