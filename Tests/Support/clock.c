/* clock.c: for test scripts, a clock that all processes share and a wait for a
 * descriptor: `clock.now()` in nanoseconds, `clock.wait(fd, milliseconds)` says
 * whether the descriptor is readable. */
#define _POSIX_C_SOURCE 200809L
#include <lauxlib.h>
#include <poll.h>
#include <time.h>

static int now(lua_State *L) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  lua_pushinteger(L, (lua_Integer)time.tv_sec * 1000000000 + time.tv_nsec);
  return 1;
}

static int wait_for(lua_State *L) {
  struct pollfd entry = {(int)luaL_checkinteger(L, 1), POLLIN, 0};
  lua_pushboolean(L, poll(&entry, 1, (int)luaL_checkinteger(L, 2)) == 1);
  return 1;
}

int luaopen_clock(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"now", now}, {"wait", wait_for}, {NULL, NULL}};
  luaL_newlib(L, functions);
  return 1;
}
