/* cancel.c: threads that pthread_cancel ends in the middle of a call of the
 * library leave no lock of it locked: the others go on. */
#define _XOPEN_SOURCE 700
#include <pthread.h>
#include <time.h>

#include "check.h"

#define THREADS 40

static kv_store *store;

static void ignore(void *context, const kv_step *path, size_t steps,
                   const kv_tree *old, const kv_tree *new) {
  (void)context, (void)path, (void)steps, (void)old, (void)new;
}

/* Sets, commits, writes, looks and waits until it is cancelled. */
static void *work(void *kind) {
  kv_step a = kv_key("a");
  for (int64_t number = 1;; number++) {
    kv_transaction *transaction = NULL;
    kv_store_set_integer(store, &a, 1, number, NULL);
    switch (*(const int *)kind) {
      case 0:
        kv_store_sync(store, NULL);
        break;
      case 1:
        kv_store_pump(store, NULL, NULL);
        break;
      case 2:
        kv_store_wait(store, 0.001, NULL, NULL);
        break;
      default:
        if (kv_store_begin(store, 1, &transaction, NULL) == KV_OK)
          kv_transaction_commit(transaction, NULL);
    }
    pthread_testcancel();
  }
  return NULL;
}

static void cancelled(const char *name) {
  kv_step b = kv_key("b");
  kv_watch *watch = NULL;
  int64_t found = 0;
  CHECK(kv_store_open_file(kv_string(in_folder(name)), NULL, &store, NULL) ==
        KV_OK);
  CHECK(kv_store_watch(store, NULL, 0, KV_SCOPE_VALUE, ignore, NULL, &watch,
                       NULL) == KV_OK);
  for (int i = 0; i < THREADS; i++) {
    int kind = i % 4;
    struct timespec pause = {0, 300000L * (i % 7)};
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, work, &kind) == 0);
    nanosleep(&pause, NULL);
    CHECK(pthread_cancel(thread) == 0 && pthread_join(thread, NULL) == 0);
  }
  CHECK(kv_store_set_integer(store, &b, 1, 7, NULL) == KV_OK);
  CHECK(kv_store_sync(store, NULL) == KV_OK);
  CHECK(kv_store_pump(store, NULL, NULL) == KV_OK);
  CHECK(kv_store_get_integer(store, &b, 1, &found, NULL) == KV_OK);
  CHECK(found == 7);
  kv_watch_cancel(watch);
  CHECK(kv_store_close(store, NULL) == KV_OK);
  kv_store_free(store);
}

int main(void) {
  make_folder();
  cancelled("a.plist");
  cancelled("a.sqlite");
  remove_folder();
  return finish_checks();
}
