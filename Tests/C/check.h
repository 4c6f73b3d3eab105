/* check.h: what the C tests share. Each check prints a line of TAP. */
#ifndef CHECK_H
#define CHECK_H

#include "kvcodable.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int checks = 0, failures = 0;

static void report(int good, const char *what, const char *file, int line) {
  checks++;
  if (!good) failures++;
  printf("%sok %d - %s", good ? "" : "not ", checks, what);
  if (!good) printf(" (%s:%d)", file, line);
  printf("\n");
}

#define CHECK(condition) report(!!(condition), #condition, __FILE__, __LINE__)
#define CHECK_NAMED(condition, name) \
  report(!!(condition), name, __FILE__, __LINE__)

static inline int finish_checks(void) {
  printf("1..%d\n", checks);
  return failures ? 1 : 0;
}

static inline int text_equals(kv_str text, const char *expected) {
  return text.length == strlen(expected) &&
         memcmp(text.data, expected, text.length) == 0;
}

#endif
