// cplusplus.cpp: the headers in C++, with handles that free themselves.
#include <kvcodable.h>
#include <kvcodable_lua.h>
#include <kvcodable_nodes.h>

#include <cstdio>
#include <memory>
#include <string>

namespace {

template <typename Handle, void (*release)(Handle *)>
struct Release {
  void operator()(Handle *handle) const { release(handle); }
};

template <typename Handle, void (*release)(Handle *)>
using Owned = std::unique_ptr<Handle, Release<Handle, release>>;

using Tree = Owned<kv_tree, kv_tree_free>;
using Type = Owned<kv_type, kv_type_free>;
using Store = Owned<kv_store, kv_store_free>;
using Error = Owned<kv_error, kv_error_free>;
using Registry = Owned<kv_registry, kv_registry_free>;

int checks = 0, failures = 0;

void check(bool good, const char *what) {
  checks++;
  failures += !good;
  std::printf("%sok %d - %s\n", good ? "" : "not ", checks, what);
}

Tree parse(const char *text) {
  kv_tree *tree = nullptr;
  kv_decode(kv_string(text), nullptr, nullptr, &tree, nullptr, nullptr);
  return Tree(tree);
}

std::string message(const Error &error) {
  kv_str text = kv_error_message(error.get());
  return std::string(text.data, text.length);
}

Store open_memory() {
  kv_store_options options = {};
  kv_store *store = nullptr;
  options.size = sizeof options;
  options.engine = KV_ENGINE_MEMORY;
  kv_store_open_file(kv_string("none.plist"), &options, &store, nullptr);
  return Store(store);
}

Type declare(const Registry &registry, const char *text, const char *name) {
  kv_type *type = nullptr;
  kv_registry_declare(registry.get(), kv_string(text), kv_string(""), nullptr,
                      nullptr);
  kv_registry_type(registry.get(), kv_string(name), &type, nullptr);
  return Type(type);
}

}  // namespace

int main() {
  Registry registry(kv_registry_new(NULL, 0));
  Type window = declare(registry, "struct Window { width: Int }", "Window");
  Store store = open_memory();
  Tree good = parse("{\"width\": 640}"), bad = parse("{\"width\": \"a\"}");
  kv_step path[] = {kv_key("window"), kv_key("width")};
  kv_error *thrown = nullptr;
  std::int64_t width = 0;

  check(kv_store_set(store.get(), path, 1, good.get(), window.get(), 0, NULL,
                     nullptr) == KV_OK,
        "a typed value is set");
  check(kv_store_get_integer(store.get(), path, 2, &width, nullptr) == KV_OK &&
            width == 640,
        "and read at a path");
  check(kv_store_set_integer(store.get(), path, 2, 800, nullptr) == KV_OK &&
            kv_store_get_integer(store.get(), path, 2, &width, nullptr) ==
                KV_OK &&
            width == 800,
        "a scalar is set at a path");
  const std::string title = "Window 1";
  kv_bytes text = {};
  check(
      kv_store_set_string(store.get(), path, 1, {title.data(), title.size()},
                          nullptr) == KV_OK &&
          kv_store_get_string(store.get(), path, 1, &text, nullptr) == KV_OK &&
          title == std::string(text.data, text.length),
      "and a string");
  kv_bytes_free(&text);
  check(kv_store_set(store.get(), path, 1, bad.get(), window.get(), 0, NULL,
                     &thrown) == KV_TYPE_MISMATCH,
        "a wrong value is refused");
  check(message(Error(thrown)) == "Expected Int at window.width, found String",
        "with its place");
  std::printf("1..%d\n", checks);
  return failures != 0;
}
