/* errors.c: versions, errors and what they tell, and every status provoked. */
#define _XOPEN_SOURCE 700
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "check.h"
#include "kvcodable_nodes.h"

static void versions(void) {
  CHECK(kv_abi_version() == KV_ABI_VERSION);
  CHECK(strlen(kv_version()) > 0);
}

/* An error at tags[2]. */
static kv_error *error_with_path(void) {
  kv_tree *tree = parse("{\"tags\": [1, 2, 3]}");
  kv_step path[3] = {kv_key("tags"), kv_index(2), kv_key("x")};
  kv_error *error = NULL;
  CHECK(kv_tree_set(tree, path, 3, tree, NULL, &error) == KV_PATH_MISMATCH);
  kv_tree_free(tree);
  return error;
}

static void paths(void) {
  kv_error *error = error_with_path();
  kv_step step;
  CHECK(kv_error_status(error) == KV_PATH_MISMATCH);
  CHECK(text_equals(kv_error_message(error),
                    "Expected Dictionary at tags[2], found Int"));
  CHECK(text_equals(kv_error_path(error), "tags[2]"));
  CHECK(path_length(error) == 2);
  CHECK(kv_error_path_step(error, 0, &step) == KV_OK);
  CHECK(text_equals(step.key, "tags"));
  CHECK(kv_error_path_step(error, 1, &step) == KV_OK);
  CHECK(step.key.data == NULL && step.index == 2);
  CHECK(kv_error_path_step(error, 2, &step) == KV_ABSENT);
  CHECK(kv_error_path_step(error, SIZE_MAX, &step) == KV_ABSENT);
  CHECK(kv_error_position(error, NULL, NULL) == KV_ABSENT);
  CHECK(kv_error_offset(error, NULL) == KV_ABSENT);
  kv_error_free(error);
}

/* The part of an error for a caller that sees only values below a root. */
static void confined(void) {
  kv_error *error = error_with_path(), *other;
  kv_step root[] = {kv_key("tags"), kv_index(2), kv_index(0)};
  kv_step elsewhere = kv_key("ui"), none = kv_key("\xff");
  static const char *const messages[] = {
      "Expected Dictionary at tags[2], found Int",
      "Expected Dictionary at [2], found Int", "Expected Dictionary, found Int",
      "Expected Dictionary, found Int"};
  for (size_t steps = 0; steps < 4; steps++) {
    other = kv_error_confined(error, root, steps);
    CHECK(path_length(other) == (steps < 2 ? 2 - steps : 0));
    CHECK(error_says(other, KV_PATH_MISMATCH, messages[steps]));
  }
  CHECK_NAMED(error_says(kv_error_confined(error, &elsewhere, 1),
                         KV_PATH_MISMATCH, "Expected Dictionary, found Int"),
              "a place that is elsewhere is left out");
  CHECK(!kv_error_confined(error, &none, 1) &&
        !kv_error_placed(error, &none, 1));
  other = kv_error_placed(error, root, 1);
  CHECK(text_equals(kv_error_path(other), "tags.tags[2]"));
  kv_error_free(error);
  error = kv_error_confined(other, root, 1);
  CHECK(error_says(error, KV_PATH_MISMATCH,
                   "Expected Dictionary at tags[2], found Int"));
  CHECK(error_says(other, KV_PATH_MISMATCH,
                   "Expected Dictionary at tags.tags[2], found Int"));
}

/* The store's file, and an error that does not name it. */
static void files(void) {
  kv_store_options options = store_options(KV_ENGINE_AUTOMATIC);
  kv_store *store = NULL, *memory = memory_store();
  kv_error *error = NULL;
  kv_bytes file = {NULL, 0};
  kv_step a = kv_key("a");
  char expected[300];
  options.read_only = 1;
  write_file(in_folder("known.plist"), "{\"a\": 1}");
  CHECK(kv_store_open_file(kv_string(in_folder("known.plist")), &options,
                           &store, NULL) == KV_OK);
  CHECK(kv_store_file(store, &file, NULL) == KV_OK);
  CHECK(strcmp(file.data, in_folder("known.plist")) == 0);
  kv_bytes_free(&file);
  CHECK(kv_store_file(memory, &file, &error) == KV_ABSENT && !file.data);
  CHECK(kv_store_remove(store, &a, 1, &error) == KV_READ_ONLY);
  CHECK(error_says(kv_error_confined(error, NULL, 0), KV_READ_ONLY,
                   "The store was opened read-only at a (the store)"));
  CHECK(error_says(kv_error_confined(error, &a, 1), KV_READ_ONLY,
                   "The store was opened read-only (the store)"));
  snprintf(expected, sizeof expected,
           "The store was opened read-only at a (%s)",
           in_folder("known.plist"));
  CHECK(error_says(error, KV_READ_ONLY, expected));
  CHECK(kv_store_close(store, NULL) == KV_OK);
  CHECK(kv_store_file(store, NULL, NULL) == KV_OK);
  kv_store_free(store);
  kv_store_free(memory);
}

static void descriptions(void) {
  kv_error *error = error_with_path();
  kv_bytes text = {NULL, 0};
  CHECK(kv_error_describe(error, 1, &text) == KV_OK);
  CHECK(strcmp(text.data, "Expected Dictionary at tags[3], found Int") == 0);
  kv_bytes_free(&text);
  CHECK(text.data == NULL && text.length == 0);
  CHECK(kv_error_describe(error, INT64_MAX, &text) == KV_OK);
  kv_bytes_free(&text);
  CHECK(kv_error_describe(error, INT64_MIN, &text) == KV_OK);
  kv_bytes_free(&text);
  kv_error_free(error);
}

/* proves: G42 */
static void locations(void) {
  kv_error *error = NULL;
  kv_str binary = {"bplist00oops", 12};
  int64_t line = 0, column = 0, offset = -1;
  CHECK(kv_decode(kv_string("<plist>\n<oops/></plist>"), NULL, NULL, NULL, NULL,
                  &error) == KV_MALFORMED);
  CHECK(kv_error_position(error, &line, &column) == KV_OK);
  CHECK(line == 2 && column > 0);
  kv_error_free(error);
  CHECK(kv_decode(binary, NULL, NULL, NULL, NULL, &error) == KV_MALFORMED);
  CHECK(kv_error_offset(error, &offset) == KV_OK && offset >= 0);
  kv_error_free(error);
  error = (kv_error *)&line;
  CHECK(kv_decode(kv_string("{}"), NULL, NULL, NULL, NULL, &error) == KV_OK);
  CHECK_NAMED(error == NULL, "a call that succeeds sets its error to NULL");
}

/* ---- Every status */

static const kv_status statuses[] = {
#include "statuses.h"
};

static int seen[sizeof statuses / sizeof *statuses];

/* Checks a status that a call gave, and notes that it was provoked. */
static void gave(kv_status expected, kv_status status, const char *what) {
  if (status != expected) printf("# %d\n", (int)status);
  CHECK_NAMED(status == expected, what);
  for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++)
    if (statuses[i] == status) seen[i] = 1;
}
#define GAVE(expected, call) gave(expected, call, #call)

static kv_status opened(const char *path, const kv_store_options *options) {
  kv_store *store = NULL;
  kv_status status = kv_store_open_file(kv_string(path), options, &store, NULL);
  kv_store_free(store);
  return status;
}

static kv_status set_durably(const char *path, const kv_tree *value) {
  kv_store_options options = store_options(KV_ENGINE_AUTOMATIC);
  kv_store *store = NULL;
  kv_step key = kv_key("a");
  kv_status status;
  options.durability = KV_IMMEDIATE;
  status = kv_store_open_file(kv_string(path), &options, &store, NULL);
  if (status == KV_OK)
    status = kv_store_set(store, &key, 1, value, NULL, 0, NULL, NULL);
  kv_store_free(store);
  return status;
}

static void statuses_of_values(void) {
  kv_tree *tree = integer_tree(1), *list = parse("[1]");
  kv_builder *builder = kv_builder_new();
  kv_step key = kv_key("a");
  kv_type *type = NULL;
  kv_str bad = {"a\xFF", 2};
  kv_bytes bytes;
  char deep[1025];
  memset(deep, '[', 1024);
  deep[1024] = 0;
  GAVE(KV_OK, kv_registry_type(NULL, kv_string("String"), &type, NULL));
  GAVE(KV_ABSENT,
       kv_read_file(kv_string("/no/such/file"), NULL, NULL, NULL, NULL, NULL));
  GAVE(KV_INVALID_ARGUMENT, kv_tree_set(NULL, &key, 1, tree, NULL, NULL));
  GAVE(KV_MALFORMED, kv_decode(kv_string("{"), NULL, NULL, NULL, NULL, NULL));
  GAVE(KV_INVALID_VALUE, kv_builder_string(builder, bad, NULL));
  GAVE(KV_LIMIT_EXCEEDED,
       kv_decode(kv_string(deep), NULL, NULL, NULL, NULL, NULL));
  GAVE(KV_PATH_MISMATCH, kv_tree_set(list, &key, 1, tree, NULL, NULL));
  GAVE(KV_TYPE_MISMATCH, kv_type_decode(type, tree, NULL, NULL));
  GAVE(KV_INVALID_TYPE, kv_registry_type(NULL, kv_string("["), NULL, NULL));
  GAVE(KV_MISUSE, kv_builder_end(builder, NULL));
  GAVE(KV_INVALID_VALUE,
       kv_encode(tree, KV_FORMAT_OPENSTEP, NULL, &bytes, NULL));
  GAVE(KV_IO, kv_write_file(kv_string("/no/such/file"), tree, KV_FORMAT_XML,
                            NULL, NULL));
  kv_type_free(type);
  kv_builder_free(builder);
  kv_tree_free(tree);
  kv_tree_free(list);
}

static int refuse(void *context, const kv_step *path, size_t steps,
                  const kv_tree *value) {
  return context != NULL || path == NULL || steps == 0 || value != NULL;
}

static void statuses_of_stores(void) {
  kv_tree *tree = integer_tree(1);
  kv_store_options options = store_options(KV_ENGINE_MEMORY);
  kv_store *store = NULL;
  kv_step key = kv_key("a");
  uint64_t generation;
  options.check = refuse;
  options.arguments = NULL;
  CHECK(kv_store_open_file(kv_string("a.plist"), &options, &store, NULL) ==
        KV_OK);
  GAVE(KV_REFUSED, kv_store_set(store, &key, 1, tree, NULL, 0, NULL, NULL));
  GAVE(KV_ABSENT, kv_store_remove(store, &key, 1, NULL));
  kv_store_free(store);
  store = memory_store();
  generation = kv_store_generation(store);
  GAVE(KV_OK, kv_store_compare_and_set(store, &key, 1, tree, generation, NULL));
  GAVE(KV_CONFLICT,
       kv_store_compare_and_set(store, &key, 1, tree, generation, NULL));
  GAVE(KV_OK, kv_store_close(store, NULL));
  GAVE(KV_CLOSED, kv_store_set(store, &key, 1, tree, NULL, 0, NULL, NULL));
  kv_store_free(store);
  GAVE(KV_INVALID_NAME, kv_store_open(kv_string("../x"), NULL, NULL, NULL));
  kv_tree_free(tree);
}

static void statuses_of_options(void) {
  kv_tree *tree = integer_tree(1);
  kv_store_options options = store_options(KV_ENGINE_AUTOMATIC);
  kv_store *store = NULL;
  kv_step key = kv_key("a");
  write_file(in_folder("managed.plist"), "{\"a\": 2}");
  options.managed_file = kv_string(in_folder("managed.plist"));
  CHECK(kv_store_open_file(kv_string(in_folder("a.plist")), &options, &store,
                           NULL) == KV_OK);
  GAVE(KV_FORCED, kv_store_set(store, &key, 1, tree, NULL, 0, NULL, NULL));
  kv_store_free(store);
  options.managed_file = kv_string(NULL);
  options.read_only = 1;
  CHECK(kv_store_open_file(kv_string(in_folder("a.plist")), &options, &store,
                           NULL) == KV_OK);
  GAVE(KV_READ_ONLY, kv_store_set(store, &key, 1, tree, NULL, 0, NULL, NULL));
  kv_store_free(store);
  write_file(in_folder("damaged.plist"), "no property list\x01");
  GAVE(KV_CORRUPT, opened(in_folder("damaged.plist"), &options));
  kv_tree_free(tree);
}

static void status_of_locks(void) {
  kv_store *store = NULL;
  kv_transaction *outer = NULL;
  int lock;
  CHECK(kv_store_open_file(kv_string(in_folder("b.plist")), NULL, &store,
                           NULL) == KV_OK);
  CHECK(kv_store_begin(store, 1, &outer, NULL) == KV_OK);
  kv_transaction_rollback(outer);
  lock = open(in_folder(".b.plist.lock"), O_RDWR);
  CHECK(flock(lock, LOCK_EX) == 0);
  GAVE(KV_TIMED_OUT, kv_store_begin(store, 0.05, &outer, NULL));
  close(lock);
  kv_store_free(store);
}

/* A database that says that a newer version made it. */
static void status_of_versions(void) {
  const char *path = in_folder("newer.sqlite");
  kv_tree *tree = integer_tree(1);
  int file;
  CHECK(set_durably(path, tree) == KV_OK);
  file = open(path, O_RDWR);
  CHECK(pwrite(file, "\x7f\xff\xff\xff", 4, 60) == 4);
  close(file);
  remove(in_folder("newer.sqlite-wal"));
  remove(in_folder("newer.sqlite-shm"));
  GAVE(KV_MIGRATION, opened(path, NULL));
  kv_tree_free(tree);
}

/* Whether the system fails to write a folder to the disk. */
static int loses_folders = 0;

/* Replaces the system's. */
int fsync(int file) {
  struct stat status;
  int is_folder = fstat(file, &status) == 0 && S_ISDIR(status.st_mode);
  if (loses_folders && is_folder) errno = EIO;
  return loses_folders && is_folder ? -1 : fdatasync(file);
}

/* The new file is there, and may be gone after a power failure. */
/* proves: G39 */
static void status_of_outcomes(void) {
  kv_store_options options = store_options(KV_ENGINE_AUTOMATIC);
  kv_step key = kv_key("a");
  kv_store *store = NULL;
  int64_t number = 0;
  options.durability = KV_IMMEDIATE;
  CHECK(kv_store_open_file(kv_string(in_folder("owed.plist")), &options, &store,
                           NULL) == KV_OK);
  loses_folders = 1;
  GAVE(KV_OUTCOME_UNKNOWN, kv_store_set_integer(store, &key, 1, 7, NULL));
  CHECK(kv_store_get_integer(store, &key, 1, &number, NULL) == KV_OK);
  CHECK(number == 7);
  GAVE(KV_OUTCOME_UNKNOWN, kv_store_sync(store, NULL));
  loses_folders = 0;
  CHECK(kv_store_sync(store, NULL) == KV_OK);
  kv_store_free(store);
}

/* Runs `body` in a process of an unprivileged user, for its status. */
static kv_status in_child(kv_status (*body)(void)) {
  int status = 0;
  pid_t child = fork();
  if (child == 0) {
    if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) _exit(99);
    _exit(-body());
  }
  if (waitpid(child, &status, 0) != child || !WIFEXITED(status)) return KV_OK;
  return (kv_status)-WEXITSTATUS(status);
}

static kv_store *database = NULL;
static kv_transaction *inherited = NULL;

static kv_status commit_inherited(void) {
  return kv_transaction_commit(inherited, NULL);
}

static void status_of_a_lost_transaction(void) {
  kv_store *store = NULL;
  CHECK(kv_store_open_file(kv_string(in_folder("b.plist")), NULL, &store,
                           NULL) == KV_OK);
  CHECK(kv_store_begin(store, 1, &inherited, NULL) == KV_OK);
  GAVE(KV_ROLLED_BACK, in_child(commit_inherited));
  CHECK(kv_transaction_commit(inherited, NULL) == KV_OK);
  kv_store_free(store);
}

/* A database is of no use to a child that was forked within a transaction. */
static kv_status begin_in_database(void) {
  kv_transaction *transaction = NULL;
  return kv_store_begin(database, 1, &transaction, NULL);
}

static void status_of_forks(void) {
  kv_transaction *transaction = NULL;
  CHECK(kv_store_open_file(kv_string(in_folder("c.sqlite")), NULL, &database,
                           NULL) == KV_OK);
  CHECK(kv_store_begin(database, 1, &transaction, NULL) == KV_OK);
  GAVE(KV_UNSUPPORTED, in_child(begin_in_database));
  CHECK(kv_transaction_commit(transaction, NULL) == KV_OK);
  kv_store_free(database);
}

static kv_status read_forbidden(void) {
  return kv_read_file(kv_string(in_folder("forbidden.plist")), NULL, NULL, NULL,
                      NULL, NULL);
}

/* Writes more than a file may have. */
static kv_status write_much(void) {
  struct rlimit limit = {16, 16};
  kv_tree *tree = integer_tree(1);
  kv_status status;
  setrlimit(RLIMIT_FSIZE, &limit);
  status = set_durably(in_folder("shared/much.plist"), tree);
  kv_tree_free(tree);
  return status;
}

static void statuses_of_the_system(void) {
  const char *shared = in_folder("shared");
  kv_tree *tree = integer_tree(1);
  chmod(folder, 0755);
  write_file(in_folder("forbidden.plist"), "{}");
  chmod(in_folder("forbidden.plist"), 0);
  GAVE(KV_ACCESS_DENIED, in_child(read_forbidden));
  CHECK(mkdir(shared, 0700) == 0 && chmod(shared, 01777) == 0);
  GAVE(KV_NO_SPACE, in_child(write_much));
  CHECK(chmod(shared, 0777) == 0);
  GAVE(KV_UNSAFE_LOCATION, set_durably(in_folder("shared/a.plist"), tree));
  kv_tree_free(tree);
}

/* proves: G41 */
static void all_statuses(void) {
  statuses_of_values();
  statuses_of_stores();
  statuses_of_options();
  status_of_locks();
  status_of_versions();
  status_of_forks();
  status_of_a_lost_transaction();
  status_of_outcomes();
  statuses_of_the_system();
  /* Last: what its thread holds would be lost in the eyes of a child's valgrind. */
  int missing = 0;
  for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
    if (!seen[i]) printf("# status %d was not provoked\n", (int)statuses[i]);
    missing += !seen[i];
  }
  CHECK_NAMED(missing == 0, "every status was provoked");
}

int main(void) {
  make_folder();
  versions();
  paths();
  confined();
  files();
  descriptions();
  locations();
  all_statuses();
  remove_folder();
  return finish_checks();
}
