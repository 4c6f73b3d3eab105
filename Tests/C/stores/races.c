/* races.c: numbers are read on threads while another one sets, removes and
 * changes them, in transactions and out of them, while they are written, and
 * while other handles come and go. No reader sees an older value than one that
 * it could know of, nor what was rolled back. */
#define _XOPEN_SOURCE 700
#include <pthread.h>
#include <stdatomic.h>

#include "check.h"

#define ROUNDS 330
#define DIRTY 1000000000

static const char *path;
static kv_store_options options;
static kv_store *store;
static atomic_long known; /* the number that was set last, or an older one */
static atomic_int is_over, faults;

static void expect(int good, const char *what, kv_status status, double found) {
  if (good) return;
  if (atomic_fetch_add(&faults, 1) < 5)
    printf("# %s: status %d, %.0f\n", what, (int)status, found);
}

static kv_store *open_again(void) {
  kv_store *opened = NULL;
  kv_status status =
      kv_store_open_file(kv_string(path), &options, &opened, NULL);
  expect(status == KV_OK, "open", status, 0);
  return opened;
}

/* ---- Readers */

/* Looks at a getter's result; the number that the thread knows of then. */
static double look(const char *what, kv_status status, double found,
                   double least) {
  if (status == KV_ABSENT || status == KV_TYPE_MISMATCH) return least;
  expect(status == KV_OK && found >= least && found < DIRTY, what, status,
         found);
  return found;
}

static double latest(double last) {
  long number = atomic_load(&known);
  return number > last ? (double)number : last;
}

static void *read_numbers(void *argument) {
  kv_step n = kv_key("n"), flag = kv_key("flag");
  double last = 0;
  (void)argument;
  while (!atomic_load(&is_over)) {
    int64_t integer = 0;
    double real = 0;
    int boolean = 7;
    double least = latest(last);
    kv_status status = kv_store_get_integer(store, &n, 1, &integer, NULL);
    last = look("integer", status, (double)integer, least);
    least = latest(last);
    status = kv_store_get_real(store, &n, 1, &real, NULL);
    last = look("real", status, real, least);
    status = kv_store_get_boolean(store, &flag, 1, &boolean, NULL);
    expect(status == KV_OK && (boolean == 0 || boolean == 1), "boolean", status,
           boolean);
  }
  return NULL;
}

/* Writes, and opens and closes handles of its own. */
static void *come_and_go(void *argument) {
  kv_step n = kv_key("n");
  (void)argument;
  while (!atomic_load(&is_over)) {
    int64_t integer = 0;
    kv_status status = kv_store_sync(store, NULL);
    expect(status == KV_OK, "sync", status, 0);
    kv_store *other = NULL;
    status = kv_store_share(store, 0, NULL, 0, 0, &other, NULL);
    expect(status == KV_OK, "share", status, 0);
    double least = latest(0);
    status = kv_store_get_integer(other, &n, 1, &integer, NULL);
    look("another handle", status, (double)integer, least);
    kv_store_close(other, NULL);
    status = kv_store_get_integer(other, &n, 1, &integer, NULL);
    expect(status == KV_CLOSED, "closed", status, 0);
    kv_store_free(other);
  }
  return NULL;
}

/* Fills the store, so that it is written in every way that there is. */
static void *change_others(void *argument) {
  kv_step flag = kv_key("flag");
  (void)argument;
  for (unsigned i = 0; !atomic_load(&is_over); i++) {
    char name[20];
    snprintf(name, sizeof name, "k%u", i % 100);
    kv_step steps[2] = {kv_key(name), kv_key("inside")};
    kv_store_set_integer(store, steps, 1 + i % 2, i, NULL);
    if (i % 7 == 0) kv_store_remove(store, steps, 1, NULL);
    kv_store_set_boolean(store, &flag, 1, i % 2 != 0, NULL);
  }
  return NULL;
}

/* ---- The writer */

static void has(long number) {
  kv_step n = kv_key("n");
  int64_t integer = 0;
  double real = 0;
  kv_status status = kv_store_get_integer(store, &n, 1, &integer, NULL);
  if (status == KV_OK) {
    expect(integer == number, "own integer", status, (double)integer);
    return;
  }
  status = kv_store_get_real(store, &n, 1, &real, NULL);
  expect(status == KV_OK && real == (double)number, "own real", status, real);
}

static void set_in_transaction(long number) {
  kv_step n = kv_key("n");
  kv_transaction *transaction = NULL;
  kv_status status = kv_store_begin(store, 0, &transaction, NULL);
  kv_store_set_integer(store, &n, 1, DIRTY, NULL);
  has(DIRTY);
  kv_transaction_rollback(transaction);
  has(number - 1);
  if (status == KV_OK) status = kv_store_begin(store, 0, &transaction, NULL);
  kv_store_set_integer(store, &n, 1, number, NULL);
  if (status == KV_OK) status = kv_transaction_commit(transaction, NULL);
  expect(status == KV_OK, "transaction", status, (double)number);
}

static void set_number(long number) {
  kv_step n = kv_key("n"), inside[2] = {kv_key("n"), kv_key("x")};
  int64_t found = 0;
  switch (number % 11) {
    case 0:
      set_in_transaction(number);
      return;
    case 3:
      kv_store_set_real(store, &n, 1, (double)number, NULL);
      return;
    case 5:
      kv_store_remove(store, &n, 1, NULL);
      expect(kv_store_get_integer(store, &n, 1, NULL, NULL) == KV_ABSENT,
             "removed", KV_OK, 0);
      break;
    case 7:
      kv_store_remove(store, &n, 1, NULL);
      kv_store_set_integer(store, inside, 2, number, NULL);
      expect(kv_store_get_integer(store, &n, 1, NULL, NULL) == KV_TYPE_MISMATCH,
             "dictionary", KV_OK, 0);
      kv_store_get_integer(store, inside, 2, &found, NULL);
      expect(found == number, "inside", KV_OK, (double)found);
      break;
    default:
      break;
  }
  kv_store_set_integer(store, &n, 1, number, NULL);
}

/* proves: G20 */
static void race(kv_engine engine, kv_durability durability, const char *name) {
  void *(*const bodies[])(void *) = {read_numbers, read_numbers, come_and_go,
                                     change_others};
  kv_step n = kv_key("n"), flag = kv_key("flag");
  pthread_t threads[4];
  path = in_folder(name);
  options = store_options(engine);
  options.durability = durability;
  atomic_store(&known, 0);
  atomic_store(&is_over, 0);
  store = open_again();
  kv_store_set_integer(store, &n, 1, 0, NULL);
  kv_store_set_boolean(store, &flag, 1, 1, NULL);
  for (int i = 0; i < 4; i++)
    pthread_create(&threads[i], NULL, bodies[i], NULL);
  for (long number = 1; number <= ROUNDS; number++) {
    set_number(number);
    has(number);
    atomic_store(&known, number);
  }
  atomic_store(&is_over, 1);
  for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
  has(ROUNDS);
  CHECK(kv_store_close(store, NULL) == KV_OK);
  CHECK(kv_store_get_integer(store, &n, 1, NULL, NULL) == KV_CLOSED);
  kv_store_free(store);
  if (engine != KV_ENGINE_MEMORY) {
    store = open_again();
    has(ROUNDS);
    kv_store_free(store);
  }
  CHECK_NAMED(atomic_exchange(&faults, 0) == 0, name);
}

int main(void) {
  make_folder();
  race(KV_ENGINE_MEMORY, KV_COALESCED, "in memory no number is stale");
  race(KV_ENGINE_PROPERTY_LIST, KV_COALESCED, "nor in a file");
  race(KV_ENGINE_PROPERTY_LIST, KV_MANUAL, "nor in one that sync writes");
  race(KV_ENGINE_SQLITE, KV_COALESCED, "nor in a database");
  remove_folder();
  return finish_checks();
}
