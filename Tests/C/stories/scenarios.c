/* scenarios.c: runs the scenarios of Tests/Scenarios. With two arguments it is
 * the other process B, and takes one step: scenarios FILE JSON */
#define _XOPEN_SOURCE 700
#include "stories/scenario_steps.h"

#include <glob.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>

extern char **environ;
static char *program; /* this one */

/* ---- Programs */

static int as_b(const char *file, const char *json) {
  run run = {.file = file};
  run.options = store_options(KV_ENGINE_AUTOMATIC);
  kv_tree *tree = parse(json);
  kv_cursor step = kv_tree_root(tree);
  kv_error *error = NULL;
  kv_status status =
      kv_store_open_file(kv_string(file), NULL, &run.store, &error);
  if (status == KV_OK) status = take_own(&run, &step, &error);
  if (status == KV_OK) status = kv_store_close(run.store, &error);
  if (error) printf("# B: %s\n", kv_error_message(error).data);
  kv_error_free(error);
  kv_store_free(run.store);
  kv_tree_free(tree);
  return status == KV_OK ? 0 : 1;
}

static void let_b(run *run, const kv_cursor *step) {
  kv_tree *tree = NULL;
  kv_bytes json;
  pid_t process;
  int outcome = -1;
  kv_cursor_copy(step, &tree);
  if (kv_encode(tree, KV_FORMAT_JSON, NULL, &json, NULL) == KV_OK) {
    char file[300];
    snprintf(file, sizeof file, "%s", run->file);
    char *arguments[] = {program, file, json.data, NULL};
    if (posix_spawn(&process, program, NULL, NULL, arguments, environ) == 0)
      waitpid(process, &outcome, 0);
    kv_bytes_free(&json);
  }
  expect(run, outcome == 0, "B", "an error");
  kv_tree_free(tree);
}

static void let_foreign(run *run, const kv_cursor *step) {
  kv_tree *tree = tree_of(step, "write");
  kv_status status =
      kv_write_file(kv_string(run->file), tree, KV_FORMAT_ANY, NULL, NULL);
  expect(run, status == KV_OK, "write", "an error");
  kv_tree_free(tree);
}

/* Whether an error has the code, path and message that a step expects. */
static int is_expected(const kv_cursor *step, kv_error *error) {
  static const struct {
    const char *name;
    kv_status status;
  } codes[] = {{"conflict", KV_CONFLICT},
               {"path_mismatch", KV_PATH_MISMATCH},
               {"type_mismatch", KV_TYPE_MISMATCH},
               {"forced", KV_FORCED}};
  kv_cursor fails = {NULL, 0}, value;
  if (!has(step, "fails", &fails)) return error == NULL;
  int is_good = 0;
  for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
    if (strcmp(codes[i].name, word(&fails, "code")) == 0)
      is_good = kv_error_status(error) == codes[i].status;
  if (has(&fails, "path", &value))
    is_good &= text_equals(kv_error_path(error), place(&fails, "path"));
  if (has(&fails, "message", &value))
    is_good &= text_equals(kv_error_message(error), word(&fails, "message"));
  return error && is_good;
}

static void take(run *run, const kv_cursor *step) {
  kv_error *error = NULL;
  if (strcmp(word(step, "by"), "B") == 0) {
    let_b(run, step);
  } else if (strcmp(word(step, "by"), "foreign") == 0) {
    let_foreign(run, step);
  } else {
    take_own(run, step, &error);
    expect(run, is_expected(step, error), "error",
           error ? kv_error_message(error).data : NULL);
    kv_error_free(error);
  }
}

static void take_all(run *run, const kv_cursor *step, const char *key) {
  kv_cursor inner;
  for (uint64_t state = 0; next_of(step, key, &state, &inner);)
    take(run, &inner);
}

/* ---- Scenarios */

static void run_merge(run *run, const kv_cursor *scenario) {
  kv_cursor input = {NULL, 0}, value;
  kv_tree *result = NULL, *conflicts = NULL;
  has(scenario, "merge", &input);
  kv_tree *trees[] = {tree_of(&input, "ancestor"), tree_of(&input, "ours"),
                      tree_of(&input, "theirs")};
  kv_merge(trees[0], trees[1], trees[2], &result, &conflicts, NULL);
  kv_cursor root = kv_tree_root(conflicts);
  if (kv_cursor_count(&root) > 0 || has(scenario, "conflicts", &value))
    compare(run, scenario, "conflicts", conflicts);
  else
    kv_tree_free(conflicts);
  compare(run, scenario, "is", result);
  for (int i = 0; i < 3; i++) kv_tree_free(trees[i]);
}

/* ---- The files of a scenario */

/* Puts the scenario's values into the store as they are to be stored. */
static void fill(run *run, const kv_cursor *scenario) {
  kv_tree *start = tree_of(scenario, "start");
  kv_bytes json = {NULL, 0};
  if (!start) return;
  kv_encode(start, KV_FORMAT_JSON, NULL, &json, NULL);
  kv_status status =
      kv_store_import(run->store, kv_string(json.data), NULL, NULL);
  expect(run, status == KV_OK, "start", "an error");
  kv_bytes_free(&json);
  kv_tree_free(start);
}

/* Writes the file of a layer, and gives its path. */
static const char *layer_file(const char *folder, const char *name,
                              const kv_cursor *list) {
  static char paths[4][400];
  static int turn = 0;
  char *path = paths[turn++ % 4];
  kv_tree *tree = NULL;
  snprintf(path, sizeof paths[0], "%s/%s", folder, name);
  kv_cursor_copy(list, &tree);
  if (kv_write_file(kv_string(path), tree, KV_FORMAT_XML, NULL, NULL) != KV_OK)
    CHECK_NAMED(0, path);
  kv_tree_free(tree);
  return path;
}

/* The layers of a scenario. */
typedef struct layers {
  char folder[300], managed[400];
  kv_tree *arguments, *registered;
  char suite_names[4][20];
  kv_str suites[4];
  size_t suite_count;
} layers;

static void read_layers(layers *layers, const kv_cursor *scenario) {
  kv_cursor list;
  char defaults[320];
  if (has(scenario, "managed", &list))
    snprintf(layers->managed, sizeof layers->managed, "%s",
             layer_file(layers->folder, "managed.plist", &list));
  if (has(scenario, "global", &list))
    layer_file(layers->folder, ".GlobalPreferences.plist", &list);
  snprintf(defaults, sizeof defaults, "%s/defaults", layers->folder);
  if (has(scenario, "administrator", &list) && mkdir(defaults, 0700) == 0)
    layer_file(defaults, "settings.plist", &list);
  for (uint64_t state = 0; next_of(scenario, "suites", &state, &list);) {
    char *name = layers->suite_names[layers->suite_count], file[30];
    sprintf(name, "suite%d", (int)layers->suite_count);
    sprintf(file, "%s.plist", name);
    layer_file(layers->folder, file, &list);
    layers->suites[layers->suite_count++] = kv_string(name);
  }
  layers->arguments = tree_of(scenario, "arguments");
  layers->registered = tree_of(scenario, "registered");
  setenv("XDG_CONFIG_HOME", layers->folder, 1);
  setenv("KVCODABLE_DEFAULTS_DIR", defaults, 1);
}

/* Whether the store is opened by a name, since it has layers that belong to
 * names. */
static int has_name(const kv_cursor *scenario) {
  kv_cursor value;
  return has(scenario, "suites", &value) ||
         has(scenario, "administrator", &value) ||
         has(scenario, "global", &value);
}

static void use_layers(run *run, layers *layers) {
  run->options.arguments = layers->arguments;
  run->options.defaults = layers->registered;
  run->options.suites = layers->suites;
  run->options.suite_count = layers->suite_count;
  run->options.managed_file = kv_string(layers->managed);
}

/* Opens the file without its layers. */
static void open_alone(run *run, kv_engine engine, kv_format format) {
  kv_store_options options = store_options(engine);
  options.format = format;
  kv_status status =
      kv_store_open_file(kv_string(run->file), &options, &run->store, NULL);
  expect(run, status == KV_OK, "open", "an error");
}

/* Writes the file as it is before the first step. */
static void write_start(run *run, const kv_cursor *scenario,
                        const char *engine) {
  kv_format format =
      strcmp(engine, "json") == 0 ? KV_FORMAT_JSON : KV_FORMAT_XML;
  kv_tree *start = tree_of(scenario, "start");
  if (start && is_property_list(run)) {
    kv_write_file(kv_string(run->file), start, format, NULL, NULL);
  } else if (start) {
    open_alone(run, run->options.engine, format);
    fill(run, scenario);
    kv_store_free(run->store);
  }
  kv_tree_free(start);
}

static void expect_stored(run *run, const kv_cursor *scenario) {
  kv_tree *stored = NULL;
  kv_engine engine = run->options.engine;
  if (is_property_list(run)) {
    kv_store_free(run->store);
    run->store = NULL;
    if (kv_read_file(kv_string(run->file), NULL, NULL, &stored, NULL, NULL) !=
        KV_OK)
      stored = parse("{}");
  } else {
    if (engine == KV_ENGINE_SQLITE) {
      kv_store_free(run->store);
      open_alone(run, engine, KV_FORMAT_ANY);
    }
    kv_store_layer(run->store, KV_LAYER_APPLICATION, 0, &stored, NULL);
  }
  compare_stored(run, scenario, "stored", stored, is_property_list(run));
}

static void run_steps(run *run, const kv_cursor *scenario, const char *engine) {
  kv_type *schema = type_of(run, scenario, "schema");
  int is_memory = run->options.engine == KV_ENGINE_MEMORY;
  run->options.durability =
      word(scenario, "durability")[0] ? KV_IMMEDIATE : KV_MANUAL;
  run->options.schema = schema;
  if (strcmp(engine, "json") == 0) run->options.format = KV_FORMAT_JSON;
  if (!is_memory) write_start(run, scenario, engine);
  if (open_store(run) == KV_OK) {
    if (is_memory) fill(run, scenario);
    watch_events(run);
    take_all(run, scenario, "steps");
    kv_store_pump(run->store, NULL, NULL);
    expect(run, run->events == 0, "event", run->event);
    expect_stored(run, scenario);
  }
  kv_store_free(run->store);
  kv_watch_cancel(run->watch);
  kv_type_free(schema);
}

/* Whether a list, if there is one, has the name. */
static int allows(const kv_cursor *scenario, const char *key,
                  const char *name) {
  kv_cursor value = *scenario;
  kv_str text;
  if (!has(scenario, key, &value)) return 1;
  for (uint64_t state = 0; next_of(scenario, key, &state, &value);)
    if (kv_cursor_string(&value, &text) == KV_OK && text_equals(text, name))
      return 1;
  return 0;
}

/* Whether a step, at any depth, is done by another program. */
static int is_shared(const kv_cursor *scenario, const char *step_by) {
  kv_tree *tree = NULL;
  kv_bytes json = {NULL, 0};
  kv_cursor_copy(scenario, &tree);
  kv_encode(tree, KV_FORMAT_JSON, NULL, &json, NULL);
  int result = json.data && strstr(json.data, step_by);
  kv_bytes_free(&json);
  kv_tree_free(tree);
  return result;
}

static void report_run(const run *run, const kv_cursor *scenario,
                       const char *engine) {
  char name[250];
  snprintf(name, sizeof name, "%s (%s)", word(scenario, "name"), engine);
  CHECK_NAMED(run->failures == 0, name);
}

/* Runs a scenario in a folder of its own. */
static void run_with_engine(const kv_cursor *scenario, kv_registry *types,
                            const char *engine) {
  char name[20], file[330];
  layers layers = {.managed = ""};
  int is_sqlite = strcmp(engine, "sqlite") == 0;
  int is_plist = strcmp(engine, "xml") == 0 ||
                 (has_name(scenario) && strcmp(engine, "json") == 0);
  snprintf(name, sizeof name, "%d", checks);
  snprintf(layers.folder, sizeof layers.folder, "%s", in_folder(name));
  snprintf(file, sizeof file, "%s/settings.%s", layers.folder,
           is_plist ? "plist" : engine);
  mkdir(layers.folder, 0700);
  read_layers(&layers, scenario);
  run run = {.file = file, .types = types};
  run.options =
      store_options(is_sqlite                       ? KV_ENGINE_SQLITE
                    : strcmp(engine, "memory") == 0 ? KV_ENGINE_MEMORY
                                                    : KV_ENGINE_AUTOMATIC);
  if (has_name(scenario)) run.name = "settings";
  use_layers(&run, &layers);
  run_steps(&run, scenario, engine);
  report_run(&run, scenario, engine);
  kv_tree_free(layers.arguments);
  kv_tree_free(layers.registered);
}

static void run_with_engines(const kv_cursor *scenario, kv_registry *types) {
  static const char *engines[] = {"xml", "json", "sqlite", "memory"};
  kv_cursor start, managed;
  int has_other = is_shared(scenario, "\"by\":") || has_name(scenario);
  /* Locked values cannot be put into a store in memory. */
  if (has(scenario, "start", &start) && has(scenario, "managed", &managed))
    has_other = 1;
  int is_foreign = is_shared(scenario, "\"by\":\"foreign\"");
  for (int i = 0; i < 4; i++)
    if (allows(scenario, "engines", engines[i]) && !(i == 2 && is_foreign) &&
        !(i == 3 && has_other))
      run_with_engine(scenario, types, engines[i]);
}

static void run_file(const char *file, kv_registry *types) {
  kv_tree *tree = NULL;
  kv_cursor scenario, value;
  kv_read_file(kv_string(file), NULL, NULL, &tree, NULL, NULL);
  CHECK_NAMED(tree, file);
  kv_cursor root = kv_tree_root(tree);
  for (uint64_t state = 0; next_of(&root, "scenarios", &state, &scenario);) {
    run run = {.types = types};
    if (!allows(has(&scenario, "in", &value) ? &scenario : &root, "in", "c"))
      continue;
    if (has(&scenario, "merge", &value)) {
      run_merge(&run, &scenario);
      report_run(&run, &scenario, "no store");
    } else {
      run_with_engines(&scenario, types);
    }
  }
  kv_tree_free(tree);
}

int main(int count, char **arguments) {
  if (count == 3) return as_b(arguments[1], arguments[2]);
  program = arguments[0];
  glob_t files = {0};
  kv_registry *types = kv_registry_new(NULL, 0);
  CHECK(kv_registry_declare_file(types,
                                 kv_string("Tests/Scenarios/types.kvtypes"),
                                 NULL, NULL) == KV_OK);
  CHECK(glob("Tests/Scenarios/*.json", 0, NULL, &files) == 0);
  /* The Swift tests write random ones. */
  if (glob("build/scenarios/*.json", GLOB_APPEND, NULL, &files) != 0)
    printf("ok - # SKIP build/scenarios: the Swift tests have not run\n");
  make_folder();
  for (size_t i = 0; i < files.gl_pathc; i++)
    run_file(files.gl_pathv[i], types);
  remove_folder();
  globfree(&files);
  kv_registry_free(types);
  return finish_checks();
}
