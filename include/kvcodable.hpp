// kvcodable.hpp: kvcodable.h for C++17, in one header.
//
// Example:
//
//   #include <kvcodable.hpp>
//
//   auto store = kvcodable::store::open("com.acme.app");
//   auto width = store.get<int>({"window", "width"}).value_or(640);
//   store.set({"window", "width"}, width * 2);
//   store.transact([&] {
//     store.set("launches", store.get_or("launches", 0) + 1);
//   });
//
// Objects own what the C functions give, and free it: they are moved, and not
// copied. A moved-from object may be destroyed and assigned to; its handle() is
// NULL, and what can fail is an error on it. Objects that only read may be used
// by several threads at once, and so may a store.
//
// Errors  are thrown as kvcodable::error. With KVCODABLE_NO_EXCEPTIONS defined,
//         and under -fno-exceptions, functions that can fail give a
//         kvcodable::result instead, which has a value or an error; the type
//         outcome<T> below is T, or result<T>.
// Paths   are a list of keys and indexes, {"windows", 0, "title"}; a string is
//         one key, dots included; {} is the root. Their texts are borrowed for
//         the time of the call.
// Values  are bool, integers of every width, float, double, std::string, date,
//         data, tree, and std::vector, and std::map with string keys, of these.
//         Views and C strings are written, and read as std::string. A value of
//         another type is an error, with its path, in the words of the type
//         language. Types of a program's own specialise kvcodable::value.
//
// What is not here is done with the C functions: each object has handle().
// The header is compiled into the program, and calls functions of
// kvcodable_nodes.h: it is outside the stability promise of kvcodable.h.
#ifndef KVCODABLE_HPP
#define KVCODABLE_HPP

#include "kvcodable.h"
#include "kvcodable_fields.h"
#include "kvcodable_nodes.h"

#include <cstdint>
#include <exception>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#if !defined(KVCODABLE_NO_EXCEPTIONS) && !defined(__cpp_exceptions)
#define KVCODABLE_NO_EXCEPTIONS 1
#endif

namespace kvcodable {

// ---- Errors and results

// The error of a call: a status of kvcodable.h, the whole message, and the
// message's parts: the path, such as "window.tags[2]", the file, and the line
// and column of a text, which count from 1 and are 0 for an error without one.
//
// Example:
//
//   try {
//     store.set("volume", 7);
//   } catch (const kvcodable::error &problem) {
//     std::fprintf(stderr, "%s\n", problem.what());
//   }
class error : public std::exception {
 public:
  explicit error(kv_status status, std::string message = {})
      : status_(status), message_(std::move(message)) {}

  // Takes a C error.
  error(kv_status status, kv_error *problem) : status_(status) {
    kv_str message = kv_error_message(problem), path = kv_error_path(problem);
    if (message.data) message_.assign(message.data, message.length);
    kv_str file = kv_error_file(problem);
    if (path.data) path_.assign(path.data, path.length);
    if (file.data) file_.assign(file.data, file.length);
    kv_error_position(problem, &line_, &column_);
    kv_error_free(problem);
  }

  kv_status status() const noexcept { return status_; }
  const std::string &message() const noexcept { return message_; }
  const std::string &path() const noexcept { return path_; }
  const std::string &file() const noexcept { return file_; }
  int64_t line() const noexcept { return line_; }
  int64_t column() const noexcept { return column_; }
  const char *what() const noexcept override { return message_.c_str(); }

 private:
  kv_status status_;
  std::string message_, path_, file_;
  int64_t line_ = 0, column_ = 0;
};

// A value, or the error of the call that should have given one.
//
// Example:
//
//   store.transact([&]() -> kvcodable::result<void> {
//     if (store.get_or("volume", 0) <= 10) return {};
//     return kvcodable::error(KV_REFUSED, "the volume is too high");
//   });
template <class T>
class result {
 public:
  result(T value) : value_(std::move(value)) {}
  result(kvcodable::error problem) : error_(std::move(problem)) {}

  bool has_value() const { return value_.has_value(); }
  explicit operator bool() const { return has_value(); }
  // Only where there is a value.
  T &value() & { return *value_; }
  const T &value() const & { return *value_; }
  T &&value() && { return std::move(*value_); }
  T &operator*() & { return *value_; }
  const T &operator*() const & { return *value_; }
  T &&operator*() && { return std::move(*value_); }
  T *operator->() { return &*value_; }
  const T *operator->() const { return &*value_; }
  // Only where there is none.
  const kvcodable::error &error() const { return *error_; }

 private:
  std::optional<T> value_;
  std::optional<kvcodable::error> error_;
};

template <>
class result<void> {
 public:
  result() = default;
  result(kvcodable::error problem) : error_(std::move(problem)) {}

  bool has_value() const { return !error_; }
  explicit operator bool() const { return has_value(); }
  const kvcodable::error &error() const { return *error_; }

 private:
  std::optional<kvcodable::error> error_;
};

// What functions that can fail give: a T, or a result of one.
//
// Example:
//
//   static kvcodable::outcome<std::string> json(const kvcodable::tree &tree) {
//     return tree.encode(KV_FORMAT_JSON);
//   }
//
#ifdef KVCODABLE_NO_EXCEPTIONS
template <class T>
using outcome = result<T>;
#else
template <class T>
using outcome = T;
#endif

namespace detail {

template <class Handle, void (*release)(Handle *)>
struct release_handle {
  void operator()(Handle *handle) const { release(handle); }
};

template <class Handle, void (*release)(Handle *)>
using owned = std::unique_ptr<Handle, release_handle<Handle, release>>;

template <class T>
outcome<T> deliver(result<T> found) {
#ifdef KVCODABLE_NO_EXCEPTIONS
  return found;
#else
  if (!found) throw found.error();
  if constexpr (!std::is_void_v<T>) return *std::move(found);
#endif
}

// The error of a call on an object that was moved from.
inline error moved(const char *noun) {
  return error(KV_INVALID_ARGUMENT, std::string(noun) + " is NULL");
}

// Whether a transaction is to be committed, by what its change gave.
template <class T>
result<bool> is_good(const T &) {
  return true;
}
template <class T>
result<bool> is_good(const result<T> &given) {
  if (!given) return given.error();
  return true;
}
inline result<bool> is_good(const result<bool> &given) { return given; }
inline result<bool> is_good(bool given) { return given; }

inline kv_str view(std::string_view text) {
  return {text.data() ? text.data() : "", text.size()};
}

inline std::string text(kv_bytes &bytes) {
  std::string result(bytes.data ? bytes.data : "", bytes.length);
  kv_bytes_free(&bytes);
  return result;
}

// The outcome of a C function, which takes a place for its error last. It gives
// nothing; whether there was something; or, in the place before, bytes or what
// an object is made of.
template <class Function, class... Arguments>
outcome<void> call(Function function, Arguments... arguments) {
  kv_error *problem = nullptr;
  kv_status status = function(arguments..., &problem);
  if (status < 0) return deliver<void>(error(status, problem));
  return deliver<void>({});
}

template <class Function, class... Arguments>
outcome<bool> ask(Function function, Arguments... arguments) {
  kv_error *problem = nullptr;
  kv_status status = function(arguments..., &problem);
  if (status < 0) return deliver<bool>(error(status, problem));
  return deliver<bool>(status == KV_OK);
}

template <class Function, class... Arguments>
outcome<std::string> text_of(Function function, Arguments... arguments) {
  kv_bytes bytes = {};
  kv_error *problem = nullptr;
  kv_status status = function(arguments..., &bytes, &problem);
  if (status < 0) return deliver<std::string>(error(status, problem));
  return deliver<std::string>(text(bytes));
}

template <class Object, class Found = Object, class Function,
          class... Arguments>
outcome<Object> make(Function function, Arguments... arguments) {
  Found found = {};
  kv_error *problem = nullptr;
  kv_status status = function(arguments..., &found, &problem);
  if (status < 0) return deliver<Object>(error(status, problem));
  return deliver<Object>(Object(found));
}

}  // namespace detail

// ---- Paths

// A key of a dictionary, or an index of an array, from 0. Borrows the key.
//
// Example:
//
//   kvcodable::step first = 0;
//   auto title = store.get<std::string>({"windows", first, "title"});
class step {
 public:
  step(const char *key) : step(std::string_view(key ? key : "")) {}
  step(const std::string &key) : step(std::string_view(key)) {}
  step(std::string_view key) : step_{detail::view(key), 0} {}
  template <class Index, std::enable_if_t<std::is_integral_v<Index>, int> = 0>
  step(Index index) : step_{{nullptr, 0}, static_cast<int64_t>(index)} {
    static_assert(sizeof(Index) <= 8, "Integers have 64 bits at most");
  }

  kv_step get() const { return step_; }

 private:
  kv_step step_;
};

// The steps to a value. Borrows the keys.
//
// Example:
//
//   const kvcodable::path width = {"window", "width"};
//   store.set(width, store.get_or(width, 640) * 2);
class path {
 public:
  path() = default;
  path(std::initializer_list<step> steps) {
    steps_.reserve(steps.size());
    for (const step &one : steps) steps_.push_back(one.get());
  }
  path(const char *key) : path({step(key)}) {}
  path(const std::string &key) : path({step(key)}) {}
  path(std::string_view key) : path({step(key)}) {}
  // Of a C function; borrows its keys.
  path(const kv_step *steps, size_t count) : steps_(steps, steps + count) {}

  const kv_step *data() const { return steps_.data(); }
  size_t size() const { return steps_.size(); }
  // The key of a step; empty for an index, and behind the last.
  std::string_view key(size_t index) const {
    if (index >= size() || !steps_[index].key.data) return {};
    return {steps_[index].key.data, steps_[index].key.length};
  }

 private:
  std::vector<kv_step> steps_;
};

// ---- Values

// A point in time, in seconds since 2001-01-01T00:00:00Z.
//
// Example:
//
//   double seconds_since_1970 = static_cast<double>(std::time(nullptr));
//   store.set("opened", kvcodable::date{seconds_since_1970 - 978307200});
struct date {
  double seconds_since_2001 = 0;
};

// Bytes.
//
// Example:
//
//   store.set("icon", kvcodable::data{"\x89PNG"});
struct data {
  std::string bytes;
};

// An immutable value of a property list, or a part of one.
//
// Example:
//
//   kvcodable::tree window = kvcodable::tree::parse(R"({"width": 640})");
//   auto title = window.get<std::string>("title").value_or("none");
//   store.set("window", window);
class tree {
 public:
  tree() = default;
  explicit tree(kv_tree *taken) : tree_(taken) {}

  // From text or bytes in any format; a type checks it.
  static outcome<tree> parse(std::string_view bytes,
                             const kv_type *type = nullptr);
  static outcome<std::optional<tree>> read_file(std::string_view file,
                                                const kv_type *type = nullptr);
  // From any value.
  template <class T>
  static outcome<tree> of(const T &value);

  outcome<void> write_file(std::string_view file,
                           kv_format format = KV_FORMAT_ANY) const;
  outcome<std::string> encode(kv_format format = KV_FORMAT_XML) const;

  // The value at a path; none where there is none.
  template <class T>
  outcome<std::optional<T>> get(const path &at) const;

  kv_kind kind() const {
    kv_cursor root = cursor();
    return kv_cursor_kind(&root);
  }
  kv_cursor cursor() const { return kv_tree_root(tree_.get()); }
  kv_tree *handle() const { return tree_.get(); }
  explicit operator bool() const { return tree_ != nullptr; }
  friend bool operator==(const tree &left, const tree &right) {
    return kv_tree_equal(left.handle(), right.handle());
  }
  friend bool operator!=(const tree &left, const tree &right) {
    return !(left == right);
  }

 private:
  detail::owned<kv_tree, kv_tree_free> tree_;
};

// How a type is read and written, which a specialisation says for a type of the
// program's own. The expression is a type of the type language that the stored
// value is checked against first; "Any" takes everything. `read` gives nothing
// for a value that it refuses.
//
// Example:
//
//   struct point {
//     double x, y;
//   };
//
//   template <>
//   struct kvcodable::value<point> {
//     static std::string expression() { return "[Double]"; }
//     static std::optional<point> read(const kv_cursor &at) {
//       auto found = value<std::vector<double>>::read(at);
//       if (!found || found->size() != 2) return {};
//       return point{(*found)[0], (*found)[1]};
//     }
//     static kv_status write(kv_builder *to, point from, kv_error **error) {
//       return value<std::vector<double>>::write(to, {from.x, from.y}, error);
//     }
//   };
//
//   store.set("centre", point{0.5, 0.5});
//   auto centre = store.get<point>("centre");
template <class T, class = void>
struct value;

template <class T>
struct value<std::optional<T>> {
  static_assert(sizeof(T) == 0,
                "A std::optional is no value: get<T>() gives one where a T may "
                "be absent, remove() removes a value, and a member of a struct "
                "that may be absent has a flag (KV_FIELD_OPTIONAL)");
};

namespace detail {

// The type that a T is read as: that of its `read`.
template <class T>
using read_type = typename decltype(value<T>::read(
    std::declval<const kv_cursor &>()))::value_type;

template <class T>
std::optional<T> read(const kv_cursor &at) {
  static_assert(std::is_same_v<read_type<T>, T>,
                "A view or a C string would point into what is freed: read a "
                "std::string");
  return value<T>::read(at);
}

}  // namespace detail

template <>
struct value<bool> {
  static std::string expression() { return "Bool"; }
  static std::optional<bool> read(const kv_cursor &at) {
    int found = 0;
    if (kv_cursor_boolean(&at, &found) != KV_OK) return {};
    return found != 0;
  }
  static kv_status write(kv_builder *to, bool value, kv_error **error) {
    return kv_builder_boolean(to, value, error);
  }
};

template <class T>
struct value<T, std::enable_if_t<std::is_integral_v<T>>> {
  static_assert(sizeof(T) <= 8, "Integers have 64 bits at most");
  static std::string expression() {
    return (std::is_signed_v<T> ? "Int" : "UInt") +
           std::to_string(sizeof(T) * 8);
  }
  static std::optional<T> read(const kv_cursor &at) {
    if constexpr (std::is_signed_v<T>) {
      int64_t found = 0;
      if (kv_cursor_integer(&at, &found) == KV_OK &&
          static_cast<T>(found) == found)
        return static_cast<T>(found);
    } else {
      uint64_t found = 0;
      if (kv_cursor_unsigned(&at, &found) == KV_OK &&
          static_cast<T>(found) == found)
        return static_cast<T>(found);
    }
    return {};
  }
  static kv_status write(kv_builder *to, T value, kv_error **error) {
    if constexpr (std::is_signed_v<T>)
      return kv_builder_integer(to, value, error);
    else
      return kv_builder_unsigned(to, value, error);
  }
};

template <class T>
struct value<T, std::enable_if_t<std::is_same_v<T, float> ||
                                 std::is_same_v<T, double>>> {
  static std::string expression() {
    return std::is_same_v<T, float> ? "Float" : "Double";
  }
  static std::optional<T> read(const kv_cursor &at) {
    double found = 0;
    if (kv_cursor_real(&at, &found) != KV_OK) return {};
    return static_cast<T>(found);
  }
  static kv_status write(kv_builder *to, T value, kv_error **error) {
    return kv_builder_real(to, value, error);
  }
};

template <>
struct value<std::string> {
  static std::string expression() { return "String"; }
  static std::optional<std::string> read(const kv_cursor &at) {
    kv_str found = {};
    if (kv_cursor_string(&at, &found) != KV_OK) return {};
    return std::string(found.data ? found.data : "", found.length);
  }
  static kv_status write(kv_builder *to, std::string_view value,
                         kv_error **error) {
    return kv_builder_string(to, detail::view(value), error);
  }
};

// Types for writing: reading gives a std::string. A null pointer is an error.
template <>
struct value<std::string_view> : value<std::string> {};
template <>
struct value<const char *> : value<std::string> {
  static kv_status write(kv_builder *to, const char *value, kv_error **error) {
    if (value) return kv_builder_string(to, kv_string(value), error);
    if (error)
      *error = kv_error_new(KV_INVALID_ARGUMENT, kv_string("a text is NULL"),
                            nullptr, 0);
    return KV_INVALID_ARGUMENT;
  }
};
template <>
struct value<char *> : value<const char *> {};

template <>
struct value<date> {
  static std::string expression() { return "Date"; }
  static std::optional<date> read(const kv_cursor &at) {
    date found;
    if (kv_cursor_date(&at, &found.seconds_since_2001) != KV_OK) return {};
    return found;
  }
  static kv_status write(kv_builder *to, date value, kv_error **error) {
    return kv_builder_date(to, value.seconds_since_2001, error);
  }
};

template <>
struct value<data> {
  static std::string expression() { return "Data"; }
  static std::optional<data> read(const kv_cursor &at) {
    kv_str found = {};
    if (kv_cursor_data(&at, &found) != KV_OK) return {};
    return data{std::string(found.data ? found.data : "", found.length)};
  }
  static kv_status write(kv_builder *to, const data &value, kv_error **error) {
    return kv_builder_data(to, detail::view(value.bytes), error);
  }
};

template <>
struct value<tree> {
  static std::string expression() { return "Any"; }
  static std::optional<tree> read(const kv_cursor &at) {
    kv_tree *copy = nullptr;
    if (kv_cursor_copy(&at, &copy) != KV_OK) return {};
    return tree(copy);
  }
  static kv_status write(kv_builder *to, const tree &value, kv_error **error) {
    kv_cursor root = value.cursor();
    return kv_builder_cursor(to, &root, error);
  }
};

template <class T>
struct value<std::vector<T>> {
  static std::string expression() { return "[" + value<T>::expression() + "]"; }
  static std::optional<std::vector<T>> read(const kv_cursor &at) {
    std::vector<T> elements;
    kv_cursor next;
    uint64_t state = 0;
    elements.reserve(kv_cursor_count(&at));
    while (kv_cursor_next(&at, &state, &next) == KV_OK) {
      auto element = detail::read<T>(next);
      if (!element) return {};
      elements.push_back(*std::move(element));
    }
    return elements;
  }
  static kv_status write(kv_builder *to, const std::vector<T> &elements,
                         kv_error **error) {
    kv_status status = kv_builder_begin_array(to, error);
    for (const auto &element : elements)
      if (status == KV_OK) status = value<T>::write(to, element, error);
    return status == KV_OK ? kv_builder_end(to, error) : status;
  }
};

template <class T, class Less>
struct value<std::map<std::string, T, Less>> {
  using entries = std::map<std::string, T, Less>;
  static std::string expression() {
    return "[String: " + value<T>::expression() + "]";
  }
  static std::optional<entries> read(const kv_cursor &at) {
    entries found;
    kv_str key;
    kv_cursor next;
    for (size_t i = 0; kv_cursor_entry(&at, i, &key, &next) == KV_OK; i++) {
      auto entry = detail::read<T>(next);
      if (!entry) return {};
      found.emplace(std::string(key.data ? key.data : "", key.length),
                    *std::move(entry));
    }
    return found;
  }
  static kv_status write(kv_builder *to, const entries &from,
                         kv_error **error) {
    kv_status status = kv_builder_begin_dictionary(to, error);
    for (const auto &[key, entry] : from) {
      if (status == KV_OK)
        status = kv_builder_key(to, detail::view(key), error);
      if (status == KV_OK) status = value<T>::write(to, entry, error);
    }
    return status == KV_OK ? kv_builder_end(to, error) : status;
  }
};

namespace detail {

// The type that T's values are checked against, made once.
template <class T>
const kv_type *type_of() {
  static const owned<kv_type, kv_type_free> type([] {
    kv_type *made = nullptr;
    std::string text = value<T>::expression();
    if (text != "Any") kv_registry_type(nullptr, view(text), &made, nullptr);
    return made;
  }());
  return type.get();
}

// An error of the value at a path. Takes the C error.
inline error placed(kv_status status, kv_error *problem, const path &at) {
  kv_error *there = kv_error_placed(problem, at.data(), at.size());
  kv_error_free(problem);
  return error(status, there);
}

template <class T>
result<tree> build(const T &from, const path &at = {}) {
  owned<kv_builder, kv_builder_free> builder(kv_builder_new());
  kv_tree *built = nullptr;
  kv_error *problem = nullptr;
  kv_status status =
      value<std::decay_t<T>>::write(builder.get(), from, &problem);
  if (status == KV_OK)
    status = kv_builder_finish(builder.get(), &built, &problem);
  if (status < 0) return placed(status, problem, at);
  return tree(built);
}

// A value as a T, once it is checked.
template <class T>
result<std::optional<T>> convert(tree from, const path &at) {
  kv_error *problem = nullptr;
  if (const kv_type *type = type_of<T>()) {
    kv_tree *shown = nullptr;
    kv_status status = kv_type_decode(type, from.handle(), &shown, &problem);
    if (status < 0) return placed(status, problem, at);
    from = tree(shown);
  }
  auto found = read<T>(from.cursor());
  if (found) return std::optional<T>(std::move(found));
  problem = kv_error_new(KV_TYPE_MISMATCH, kv_string(""), at.data(), at.size());
  kv_str where = kv_error_path(problem);
  std::string words = "Expected " + value<T>::expression();
  if (where.length) words += " at " + std::string(where.data, where.length);
  kv_error_free(problem);
  return error(KV_TYPE_MISMATCH, kv_error_new(KV_TYPE_MISMATCH, view(words),
                                              at.data(), at.size()));
}

}  // namespace detail

inline outcome<tree> tree::parse(std::string_view bytes, const kv_type *type) {
  kv_tree *found = nullptr;
  kv_error *problem = nullptr;
  kv_status status =
      kv_decode(detail::view(bytes), nullptr, type, &found, nullptr, &problem);
  if (status < 0) return detail::deliver<tree>(error(status, problem));
  return detail::deliver<tree>(tree(found));
}

inline outcome<std::optional<tree>> tree::read_file(std::string_view file,
                                                    const kv_type *type) {
  using optional = std::optional<tree>;
  kv_tree *found = nullptr;
  kv_error *problem = nullptr;
  kv_status status = kv_read_file(detail::view(file), nullptr, type, &found,
                                  nullptr, &problem);
  if (status < 0) return detail::deliver<optional>(error(status, problem));
  return detail::deliver<optional>(found ? optional(tree(found)) : optional());
}

template <class T>
outcome<tree> tree::of(const T &value) {
  return detail::deliver<tree>(detail::build(value));
}

inline outcome<void> tree::write_file(std::string_view file,
                                      kv_format format) const {
  return detail::call(kv_write_file, detail::view(file), handle(), format,
                      nullptr);
}

inline outcome<std::string> tree::encode(kv_format format) const {
  return detail::text_of(kv_encode, handle(), format, nullptr);
}

template <class T>
outcome<std::optional<T>> tree::get(const path &at) const {
  using optional = std::optional<T>;
  kv_cursor root = cursor(), there = {};
  kv_tree *part = nullptr;
  if (!tree_) return detail::deliver<optional>(detail::moved("tree"));
  if (kv_cursor_path(&root, at.data(), at.size(), &there) != KV_OK)
    return detail::deliver<optional>(optional());
  kv_cursor_copy(&there, &part);
  return detail::deliver<optional>(detail::convert<T>(tree(part), at));
}

// ---- Types

// A type that values are checked against.
//
// Example:
//
//   kvcodable::type sizes = kvcodable::registry().type("[Int(0...)]");
//   auto checked = store.get("sizes", sizes);
class type {
 public:
  explicit type(kv_type *taken) : type_(taken) {}

  // The type that is published for a store, by the user or by a package; none
  // where there is none.
  static outcome<std::optional<type>> published(std::string_view name) {
    return type::given(kv_type_published, detail::view(name));
  }

  // The text that registry::declare() takes for a declared type; none for
  // another.
  outcome<std::optional<std::string>> declaration() const {
    using optional = std::optional<std::string>;
    kv_bytes text = {};
    kv_error *problem = nullptr;
    kv_status status = kv_type_declaration(handle(), &text, &problem);
    if (status < 0) return detail::deliver<optional>(error(status, problem));
    if (status != KV_OK) return detail::deliver<optional>(optional());
    return detail::deliver<optional>(optional(detail::text(text)));
  }

  // The JSON Schema (2020-12) of what a file holds for the type, on one line.
  outcome<std::string> json_schema() const {
    return detail::text_of(kv_type_json_schema, handle());
  }

  // The type of the value at a path of stored keys; none where it says nothing.
  outcome<std::optional<type>> at(const path &at) const {
    return type::given(kv_type_at, handle(), at.data(), at.size());
  }

  kv_type *handle() const { return type_.get(); }

  // The type that a C function gives.
  template <class Function, class... Arguments>
  static outcome<std::optional<type>> given(Function function,
                                            Arguments... arguments) {
    using optional = std::optional<type>;
    kv_type *found = nullptr;
    kv_error *problem = nullptr;
    kv_status status = function(arguments..., &found, &problem);
    if (status < 0) return detail::deliver<optional>(error(status, problem));
    return detail::deliver<optional>(status == KV_OK ? optional(type(found))
                                                     : optional());
  }

 private:
  detail::owned<kv_type, kv_type_free> type_;
};

// A set of declared types.
//
// Example:
//
//   kvcodable::registry types;
//   types.declare("struct Window { width: Int = 640 }");
//   if (auto window = store.get("window", types.type("Window")))
//     std::printf("%d\n", window->get<int>("width").value_or(0));
class registry {
 public:
  registry() : registry_(kv_registry_new(nullptr, 0)) {}
  explicit registry(kv_registry *taken) : registry_(taken) {}

  // Structs and enums, in the type language.
  outcome<void> declare(std::string_view text) {
    return detail::call(kv_registry_declare, handle(), detail::view(text),
                        kv_str{}, nullptr);
  }

  // Those of a file; gives whether there is one.
  outcome<bool> declare_file(std::string_view file) {
    return detail::ask(kv_registry_declare_file, handle(), detail::view(file),
                       nullptr);
  }

  // The type of an expression, such as "[Window]?".
  outcome<kvcodable::type> type(std::string_view expression) {
    using given = kvcodable::type;
    if (!handle()) return detail::deliver<given>(detail::moved("registry"));
    return detail::make<given, kv_type *>(kv_registry_type, handle(),
                                          detail::view(expression));
  }

  // Publishes the type of an expression, which must be declared, as that of a
  // store, for tools and scripts. Gives the file.
  outcome<std::string> publish(std::string_view expression,
                               std::string_view name) {
    return detail::text_of(kv_registry_publish, handle(),
                           detail::view(expression), detail::view(name));
  }

  kv_registry *handle() const { return registry_.get(); }

 private:
  detail::owned<kv_registry, kv_registry_free> registry_;
};

// ---- Stores

// Options of opening a store: the C struct, with its size set.
//
// Example:
//
//   kvcodable::store_options options;
//   options.durability = KV_IMMEDIATE;
//   auto careful = kvcodable::store::open("com.acme.app", options);
struct store_options : kv_store_options {
  store_options() : kv_store_options{} { size = sizeof(kv_store_options); }
};

// Called by store::pump() with a change; a value that is not there is no tree.
// What it throws is thrown by the pump, once all others were called, also where
// the pump has an error of its own. It may end its own watch.
//
// Example:
//
//   kvcodable::watch_handler print = [](const kvcodable::path &at,
//                                       const kv_tree *, const kv_tree *now) {
//     std::string key(at.key(0));
//     std::printf("%s is %s\n", key.c_str(), now ? "changed" : "gone");
//   };
//   auto watch = store.watch("volume", print);
using watch_handler =
    std::function<void(const path &at, const kv_tree *old, const kv_tree *now)>;

namespace detail {

struct watch_state : std::enable_shared_from_this<watch_state> {
  watch_handler handler;
#ifndef KVCODABLE_NO_EXCEPTIONS
  std::shared_ptr<std::exception_ptr> failure;
#endif

  static void call(void *context, const kv_step *steps, size_t count,
                   const kv_tree *old, const kv_tree *now) {
    // Held for the time of the call, which may end the watch.
    auto state = static_cast<watch_state *>(context)->shared_from_this();
#ifdef KVCODABLE_NO_EXCEPTIONS
    state->handler(path(steps, count), old, now);
#else
    try {
      state->handler(path(steps, count), old, now);
    } catch (...) {
      if (!*state->failure) *state->failure = std::current_exception();
    }
#endif
  }
};

}  // namespace detail

// A watch, as long as the object lives. It belongs to the thread that pumps.
//
// Example:
//
//   int changes = 0;
//   kvcodable::watch watch = store.watch(
//       "volume", [&](const kvcodable::path &, const kv_tree *,
//                     const kv_tree *) { changes++; });
//   store.set("volume", 8);
//   store.pump();
class watch {
 public:
  watch(kv_watch *taken, std::shared_ptr<detail::watch_state> state)
      : state_(std::move(state)), watch_(taken) {}

 private:
  std::shared_ptr<detail::watch_state> state_;
  detail::owned<kv_watch, kv_watch_cancel> watch_;
};

// A transaction of this thread: the store's functions are part of it until it
// is committed. Where it is destroyed before, nothing of it has happened.
//
// Example:
//
//   kvcodable::transaction transaction = store.begin();
//   store.set("launches", store.get_or("launches", 0) + 1);
//   transaction.commit();
class transaction {
 public:
  explicit transaction(kv_transaction *taken) : transaction_(taken) {}

  // Writes all changes at once, durably.
  outcome<void> commit() {
    return detail::call(kv_transaction_commit, transaction_.release());
  }
  void rollback() { transaction_.reset(); }
  kv_transaction *handle() const { return transaction_.get(); }

 private:
  detail::owned<kv_transaction, kv_transaction_rollback> transaction_;
};

// Where a value comes from.
//
// Example:
//
//   std::optional<kvcodable::origin> origin = store.origin_of("volume");
//   if (origin && origin->layer == KV_LAYER_MANAGED)
//     std::printf("The administrator set it in %s\n", origin->file.c_str());
struct origin {
  kv_layer layer;
  size_t suite;      // the index of a suite, else 0
  std::string file;  // empty for a layer without one
};

// A store of preferences. The head of this file has an example.
class store {
 public:
  // The store with a name, such as "com.acme.app" or "acme/settings", or in a
  // file.
  static outcome<store> open(
      std::string_view name,
      const kv_store_options &options = store_options()) {
    return detail::make<store, kv_store *>(kv_store_open, detail::view(name),
                                           &options);
  }
  static outcome<store> open_file(
      std::string_view file,
      const kv_store_options &options = store_options()) {
    return detail::make<store, kv_store *>(kv_store_open_file,
                                           detail::view(file), &options);
  }
  explicit store(kv_store *taken) : store_(taken) {}

  // The value at a path, as the store's schema shows it, where it has one; none
  // where there is none.
  template <class T>
  outcome<std::optional<T>> get(const path &at) const {
    return detail::deliver<std::optional<T>>(value_at<T>(at));
  }

  // The same as a type shows it.
  outcome<std::optional<tree>> get(const path &at, const type &as) const {
    using optional = std::optional<tree>;
    if (!as.handle()) return detail::deliver<optional>(detail::moved("type"));
    return detail::deliver<optional>(stored(at, as.handle()));
  }

  // The value, or the fallback where there is none of that type, whatever the
  // reason. That of a view or a C string is a std::string, empty for a null
  // pointer. Throws nothing.
  template <class T>
  detail::read_type<T> get_or(const path &at, T fallback) const {
    auto value = value_at<detail::read_type<T>>(at);
    if (value && *value) return **std::move(value);
    if constexpr (std::is_convertible_v<T, const char *>)
      return fallback ? fallback : "";
    else
      return detail::read_type<T>(std::move(fallback));
  }

  template <class T>
  outcome<void> set(const path &at, const T &value) {
    auto built = detail::build(value, at);
    if (!built) return detail::deliver<void>(built.error());
    return put(at, *built, nullptr, 0);
  }
  // As a type stores it: what the type does not know is kept, unless `flags`
  // has KV_REPLACE.
  outcome<void> set(const path &at, const tree &value, const type &as,
                    uint32_t flags = 0) {
    if (!as.handle()) return detail::deliver<void>(detail::moved("type"));
    return put(at, value, as.handle(), flags);
  }

  // Whether there was a value.
  outcome<bool> remove(const path &at) {
    return detail::ask(kv_store_remove, handle(), at.data(), at.size());
  }

  // Whether there is a value, in any layer.
  outcome<bool> has(const path &at) const {
    return detail::ask(kv_store_get, handle(), at.data(), at.size(), nullptr,
                       nullptr);
  }

  // The layer that a value is read from, and that layer's file, if it has one.
  outcome<std::optional<origin>> origin_of(const path &at) const {
    kv_origin found = {};
    found.size = sizeof found;
    kv_error *problem = nullptr;
    kv_status status =
        kv_store_origin(handle(), at.data(), at.size(), &found, &problem);
    using optional = std::optional<origin>;
    if (status < 0) return detail::deliver<optional>(error(status, problem));
    if (status == KV_ABSENT) return detail::deliver<optional>(optional());
    return detail::deliver<optional>(
        optional({found.layer, found.suite, detail::text(found.file)}));
  }

  // Whether the administrator has locked the value, so that a set of another
  // one is KV_FORCED.
  outcome<bool> is_forced(const path &at) const {
    int is_forced = 0;
    kv_error *problem = nullptr;
    kv_status status = kv_store_is_forced(handle(), at.data(), at.size(),
                                          &is_forced, &problem);
    if (status != KV_OK) return detail::deliver<bool>(error(status, problem));
    return detail::deliver<bool>(is_forced == 1);
  }

  // reset() removes the store's own value, so that a default shows again, and
  // rename() moves a value to a path without one. Both give whether there was a
  // value.
  outcome<bool> reset(const path &at) {
    return detail::ask(kv_store_reset, handle(), at.data(), at.size());
  }
  outcome<bool> rename(const path &from, const path &to) {
    return detail::ask(kv_store_rename, handle(), from.data(), from.size(),
                       to.data(), to.size());
  }

  // The keys at the top level, or of the dictionary at a path, as paths name
  // them, with those of defaults.
  outcome<std::vector<std::string>> keys(const path &at = {}) const {
    return texts(kv_store_keys, handle(), at.data(), at.size());
  }

  // The names of the stores that are there for open(); the file of one.
  static outcome<std::vector<std::string>> names(
      kv_engine engine = KV_ENGINE_AUTOMATIC) {
    return texts(kv_store_names, engine);
  }
  static outcome<std::string> file_of(std::string_view name,
                                      kv_engine engine = KV_ENGINE_AUTOMATIC) {
    return detail::text_of(kv_store_path, detail::view(name), engine);
  }

  // The type that the schema has for the value at a path of stored keys.
  outcome<std::optional<type>> type_at(const path &at) const {
    return type::given(kv_store_type_at, handle(), at.data(), at.size());
  }

  // Everything that can be read now, as it is stored.
  outcome<tree> snapshot() const {
    return detail::make<tree, kv_tree *>(kv_store_snapshot, handle());
  }

  // `seconds` is the time to wait for the lock; 0 for the store's own timeout.
  outcome<transaction> begin(double seconds = 0) {
    return detail::make<transaction, kv_transaction *>(kv_store_begin, handle(),
                                                       seconds);
  }

  // Calls `change` in a transaction, and commits; an exception that it throws,
  // and a `false` or an error that it returns, takes the whole transaction
  // back. Gives whether the transaction was committed, or that error.
  template <class Change>
  outcome<bool> transact(Change change) {
    auto begun = start();
    if (!begun) return detail::deliver<bool>(begun.error());
    result<bool> good = true;
    if constexpr (std::is_void_v<decltype(change())>)
      change();
    else
      good = detail::is_good(change());
    if (!good || !*good) return detail::deliver<bool>(std::move(good));
    return detail::ask(kv_transaction_commit, begun->release());
  }

  // Calls the handler, from pump(), for each change of the value, and with
  // KV_SCOPE_SUBTREE of each value below it that is no dictionary, as
  // kv_store_watch().
  outcome<kvcodable::watch> watch(const path &at, watch_handler handler,
                                  kv_scope scope = KV_SCOPE_VALUE) {
    using watched = kvcodable::watch;
    auto state = std::make_shared<detail::watch_state>();
    state->handler = std::move(handler);
#ifndef KVCODABLE_NO_EXCEPTIONS
    state->failure = failure_;
#endif
    kv_watch *made = nullptr;
    kv_error *problem = nullptr;
    kv_status status =
        kv_store_watch(handle(), at.data(), at.size(), scope,
                       detail::watch_state::call, state.get(), &made, &problem);
    if (status < 0) return detail::deliver<watched>(error(status, problem));
    return detail::deliver<watched>(watched(made, std::move(state)));
  }

  // Takes up the changes of others and calls the handlers; gives the number of
  // calls. Never waits: descriptor() is readable when there may be something.
  outcome<size_t> pump() { return pumped(kv_store_pump, handle()); }
  // The same as soon as there is something, waiting at most so long: 0 when the
  // time is over, or a signal came.
  outcome<size_t> wait(double seconds) {
    return pumped(kv_store_wait, handle(), seconds);
  }
  outcome<int> descriptor() {
    return detail::make<int>(kv_store_watch_descriptor, handle());
  }

  // The members of a struct, by a table of kvcodable_fields.h.
  template <class Struct, size_t count>
  outcome<void> read(const kv_field (&fields)[count], Struct &values) const {
    return detail::call(kv_read_fields, handle(), fields, count, &values);
  }
  template <class Struct, size_t count>
  outcome<void> write(const kv_field (&fields)[count], const Struct &old,
                      const Struct &values) {
    return detail::call(kv_write_fields, handle(), fields, count, &old,
                        &values);
  }

  // Returns when everything is on disk.
  outcome<void> sync() { return detail::call(kv_store_sync, handle()); }
  // Writes the changes and closes the handle; the destructor does that, too,
  // and cannot report an error.
  outcome<void> close() { return detail::call(kv_store_close, handle()); }

  kv_store *handle() const { return store_.get(); }

 private:
  template <class Function, class... Arguments>
  static outcome<std::vector<std::string>> texts(Function function,
                                                 Arguments... arguments) {
    using list = std::vector<std::string>;
    kv_tree *found = nullptr;
    kv_error *problem = nullptr;
    kv_status status = function(arguments..., &found, &problem);
    if (status < 0) return detail::deliver<list>(error(status, problem));
    if (!found) return detail::deliver<list>(list());
    return detail::deliver<list>(
        value<list>::read(tree(found).cursor()).value_or(list()));
  }

  using begun_transaction =
      detail::owned<kv_transaction, kv_transaction_rollback>;

  template <class T>
  result<std::optional<T>> value_at(const path &at) const {
    auto shown = stored(at, nullptr);
    if (!shown) return shown.error();
    if (!*shown) return std::optional<T>();
    return detail::convert<T>(**std::move(shown), at);
  }

  result<std::optional<tree>> stored(const path &at,
                                     const kv_type *type) const {
    kv_tree *found = nullptr;
    kv_error *problem = nullptr;
    kv_status status =
        kv_store_get(handle(), at.data(), at.size(), type, &found, &problem);
    if (status < 0) return error(status, problem);
    return found ? std::optional<tree>(tree(found)) : std::optional<tree>();
  }

  template <class Function, class... Arguments>
  outcome<size_t> pumped(Function function, Arguments... arguments) {
    size_t calls = 0;
    kv_error *problem = nullptr;
    kv_status status = function(arguments..., &calls, &problem);
    result<size_t> told = calls;
    if (status < 0) told = error(status, problem);
#ifndef KVCODABLE_NO_EXCEPTIONS
    if (failure_ && *failure_)
      std::rethrow_exception(std::exchange(*failure_, nullptr));
#endif
    return detail::deliver<size_t>(std::move(told));
  }

  outcome<void> put(const path &at, const tree &value, const kv_type *type,
                    uint32_t flags) {
    return detail::call(kv_store_set, handle(), at.data(), at.size(),
                        value.handle(), type, flags, nullptr);
  }

  result<begun_transaction> start() {
    kv_transaction *begun = nullptr;
    kv_error *problem = nullptr;
    kv_status status = kv_store_begin(handle(), 0, &begun, &problem);
    if (status < 0) return error(status, problem);
    return begun_transaction(begun);
  }

  detail::owned<kv_store, kv_store_free> store_;
#ifndef KVCODABLE_NO_EXCEPTIONS
  // What a handler threw, for the pump that called it.
  std::shared_ptr<std::exception_ptr> failure_ =
      std::make_shared<std::exception_ptr>();
#endif
};

}  // namespace kvcodable

#endif
