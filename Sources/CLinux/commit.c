#include "CLinux.h"

#ifndef PULLBOX_COMMIT
#define PULLBOX_COMMIT ""
#endif

const char *clinux_build_commit(void) { return PULLBOX_COMMIT; }
