/* rows.h: what the rows that rows.py makes are. The program has a fixture `g`,
 * is_refused(), and make_row() and free_row(). */
static int untouched;
static void begin_row(void) {
  make_row();
  g.error = (kv_error *)&untouched;
}

static void end_row(void) {
  if (g.error == (kv_error *)&untouched) g.error = NULL;
  free_row();
}

/* What every function does with an error that it is asked for. */
static kv_status told(kv_status status) {
  int good = status < 0 ? g.error && g.error != (kv_error *)&untouched &&
                              kv_error_status(g.error) == status &&
                              kv_error_message(g.error).length > 0
                        : g.error == NULL;
  CHECK_NAMED(good, "the error is what the status says");
  return status;
}

#define ROW(condition, argument, call)                     \
  do {                                                     \
    begin_row();                                           \
    CHECK_NAMED(condition, "the " #argument " of " #call); \
    end_row();                                             \
  } while (0);
#define REFUSED(argument, call) ROW(is_refused(call), argument, call)
#define ACCEPTED(argument, call) \
  ROW((call) != KV_INVALID_ARGUMENT, argument, call)
#define SURVIVED(argument, call) ROW(((void)(call), 1), argument, call)
