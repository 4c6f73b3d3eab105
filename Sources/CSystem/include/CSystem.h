/* CSystem: the system calls that Swift's Glibc module does not declare. */
#ifndef CSYSTEM_H
#define CSYSTEM_H

#include <sys/random.h>
#include <sys/statfs.h>

#endif
