/* The peers that the store is measured beside: GLib's GKeyFile and SQLite. */
#include <glib.h>
#include <sqlite3.h>
