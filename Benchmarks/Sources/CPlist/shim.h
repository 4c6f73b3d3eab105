#include <malloc.h>
#include <plist/plist.h>
