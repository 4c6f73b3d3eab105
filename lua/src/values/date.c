/* date.c: dates, which property lists count in seconds since 2001. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "kinds.h"

/* Seconds from 1970-01-01 to 2001-01-01. */
#define EPOCH 978307200.0

/* ---- Dates */

static double check_date(lua_State *L, int index) {
  return *(double *)luaL_checkudata(L, index, KVL_DATE_NAME);
}

/* Days from 1970-01-01 of a day in the proleptic Gregorian calendar. */
static int64_t days_from_civil(int64_t year, int month, int day) {
  year -= month <= 2;
  int64_t era = (year >= 0 ? year : year - 399) / 400;
  int64_t year_of_era = year - era * 400;
  int64_t day_of_year =
      (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  int64_t day_of_era =
      year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
  return era * 146097 + day_of_era - 719468;
}

static int digits(const char **text, int count, int *value) {
  *value = 0;
  for (; count > 0; count--, (*text)++) {
    if (**text < '0' || **text > '9') return 0;
    *value = *value * 10 + (**text - '0');
  }
  return 1;
}

static int skip(const char **text, char wanted) {
  if (**text != wanted) return 0;
  (*text)++;
  return 1;
}

static int days_in_month(int year, int month) {
  static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  int is_leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  return month == 2 && is_leap ? 29 : days[month - 1];
}

/* "2026-11-21T08:00:00Z", with a fraction or not; UTC alone. */
static int parse_date(const char *text, double *seconds) {
  int year, month, day, hour, minute, second;
  double fraction = 0, scale = 0.1;
  if (!digits(&text, 4, &year) || !skip(&text, '-') ||
      !digits(&text, 2, &month) || !skip(&text, '-') ||
      !digits(&text, 2, &day) || !skip(&text, 'T') ||
      !digits(&text, 2, &hour) || !skip(&text, ':') ||
      !digits(&text, 2, &minute) || !skip(&text, ':') ||
      !digits(&text, 2, &second))
    return 0;
  if (skip(&text, '.'))
    for (; *text >= '0' && *text <= '9'; text++, scale /= 10)
      fraction += (*text - '0') * scale;
  if (!skip(&text, 'Z') || *text) return 0;
  if (month < 1 || month > 12 || day < 1 || day > days_in_month(year, month) ||
      hour > 23 || minute > 59 || second > 59)
    return 0;
  *seconds = (double)(days_from_civil(year, month, day) * 86400 + hour * 3600 +
                      minute * 60 + second) -
             EPOCH + fraction;
  return 1;
}

int kvl_new_date(lua_State *L) {
  double seconds;
  uint64_t whole = 0;
  int kind = kvl_integer_kind(L, 2, &whole);
  if (lua_type(L, 2) == LUA_TNUMBER) {
    seconds = lua_tonumber(L, 2) - EPOCH;
  } else if (kind != KV_NODE_NULL) {
    seconds =
        (kind == KV_NODE_UNSIGNED ? (double)whole : (double)(int64_t)whole) -
        EPOCH;
  } else if (!parse_date(kvl_check_word(L, 2), &seconds)) {
    return kvl_value_error(L,
                           "expected a time as \"2026-11-21T08:00:00Z\" or "
                           "seconds since 1970");
  }
  kvl_push_date(L, seconds);
  return 1;
}

static int date_unix(lua_State *L) {
  double seconds = check_date(L, 1) + EPOCH;
  int64_t whole;
  if (kvl_to_whole(seconds, &whole))
    lua_pushinteger(L, (lua_Integer)whole);
  else
    lua_pushnumber(L, seconds);
  return 1;
}

static int date_tostring(lua_State *L) {
  double seconds = check_date(L, 1) + EPOCH;
  char text[64], fraction[32] = "";
  struct tm parts;
  if (!(seconds > -62135596800.0 && seconds < 253402300800.0)) {
    lua_pushfstring(L, "date (%f seconds since 1970)", seconds);
    return 1;
  }
  double whole = (double)(int64_t)seconds;
  if (whole > seconds) whole -= 1;
  time_t time = (time_t)whole;
  if (!gmtime_r(&time, &parts)) return luaL_error(L, "no such date");
  if (seconds != whole) {
    snprintf(fraction, sizeof fraction, "%.6f", seconds - whole);
    for (size_t end = strlen(fraction); end > 2 && fraction[end - 1] == '0';)
      fraction[--end] = '\0';
  }
  size_t length = strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  lua_pushlstring(L, text, length);
  lua_pushfstring(L, "%sZ", fraction[0] == '0' ? fraction + 1 : "");
  lua_concat(L, 2);
  return 1;
}

static int date_eq(lua_State *L) {
  lua_pushboolean(L, kvl_are_alike(L, KVL_DATE_NAME) &&
                         check_date(L, 1) == check_date(L, 2));
  return 1;
}

static int date_lt(lua_State *L) {
  kvl_check_alike(L, KVL_DATE_NAME);
  lua_pushboolean(L, check_date(L, 1) < check_date(L, 2));
  return 1;
}

static int date_le(lua_State *L) {
  kvl_check_alike(L, KVL_DATE_NAME);
  lua_pushboolean(L, check_date(L, 1) <= check_date(L, 2));
  return 1;
}

const luaL_Reg kvl_date_methods[] = {
    {"unix", date_unix}, {"__tostring", date_tostring},
    {"__eq", date_eq},   {"__lt", date_lt},
    {"__le", date_le},   {NULL, NULL}};
