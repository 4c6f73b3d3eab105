/*
 * embedded.h: the Lua files of lua/embedded, as they are, for module.c alone.
 *
 * A compiler without #embed has its assembler read the files: their names are
 * those below the folder that it runs in, the root of the source.
 */
#ifndef KVCODABLE_EMBEDDED_H
#define KVCODABLE_EMBEDDED_H

/* A part of a chunk's text. */
typedef struct Text {
  const char *begin; /* NULL behind the last part */
  const char *end;   /* NULL for that of a string */
} Text;

#if defined __clang__ && defined __has_embed

#define FILE_TEXT(name) \
  { name##_lua, name##_lua + sizeof name##_lua }

#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wc23-extensions"
static const char sugar_lua[] = {
#embed "../embedded/sugar.lua"
};
static const char types_lua[] = {
#embed "../embedded/types.lua"
};
static const char words_lua[] = {
#embed "../embedded/words.lua"
};
static const char converters_lua[] = {
#embed "../embedded/converters.lua"
};
static const char declarations_lua[] = {
#embed "../embedded/declarations.lua"
};
static const char compiling_lua[] = {
#embed "../embedded/compiling.lua"
};
#pragma clang diagnostic pop

#else

#define FILE_TEXT(name) \
  { kvl_##name##_lua, kvl_##name##_end }

#define LUA_FILE(name)                                                        \
  __asm__(".pushsection .rodata\nkvl_" #name                                  \
          "_lua: .incbin \"lua/embedded/" #name ".lua\"\nkvl_" #name          \
          "_end:\n.popsection");                                              \
  extern const char kvl_##name##_lua[] __attribute__((visibility("hidden"))); \
  extern const char kvl_##name##_end[] __attribute__((visibility("hidden")))

LUA_FILE(sugar);
LUA_FILE(types);
LUA_FILE(words);
LUA_FILE(converters);
LUA_FILE(declarations);
LUA_FILE(compiling);

#endif

/* The globals of the files become locals of theirs: before 5.2 a script can
 * reach the globals of each function of Lua that it gets. */
static const char globals[] =
    "local _ = ... "
    "local error, getmetatable, ipairs, math, next, pairs, pcall, rawget, "
    "select, setmetatable, string, table, tostring, type = "
    "_.error, _.getmetatable, _.ipairs, _.math, _.next, _.pairs, _.pcall, "
    "_.rawget, _.select, _.setmetatable, _.string, _.table, _.tostring, "
    "_.type return (function(_, ...) ";

/* Each file gets the chunk's arguments. The result of the last is the chunk's. */
static const char run[] = "(function(...) ", next[] = "end)(...);",
                  give[] = "return (function(...) ",
                  last[] = "end)(...) end)(...)";

static const Text sugar_chunk[] = {{globals, NULL},
                                   {give, NULL},
                                   FILE_TEXT(sugar),
                                   {last, NULL},
                                   {NULL, NULL}};
static const Text types_chunk[] = {
    {globals, NULL}, {run, NULL},  FILE_TEXT(types),
    {next, NULL},    {run, NULL},  FILE_TEXT(words),
    {next, NULL},    {run, NULL},  FILE_TEXT(converters),
    {next, NULL},    {run, NULL},  FILE_TEXT(declarations),
    {next, NULL},    {give, NULL}, FILE_TEXT(compiling),
    {last, NULL},    {NULL, NULL}};

#endif
