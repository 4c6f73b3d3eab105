/* A target needs one C file for SwiftPM to notice a changed header. */
#include "CSystem.h"
