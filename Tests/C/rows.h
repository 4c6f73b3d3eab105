/* rows.h: what the rows that rows.py makes are. The program has begin_row(),
 * end_row() and is_refused(). */
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
