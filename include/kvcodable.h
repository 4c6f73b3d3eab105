#ifndef KVCODABLE_H
#define KVCODABLE_H

#include <stdint.h>

#define KV_ABI_VERSION 1

#endif
