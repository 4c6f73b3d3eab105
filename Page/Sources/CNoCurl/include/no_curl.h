// Nothing to declare: see no_curl.c.
