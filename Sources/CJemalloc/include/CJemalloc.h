#ifndef PULLBOX_CJEMALLOC_H
#define PULLBOX_CJEMALLOC_H

// An executable that depends on this target allocates by jemalloc, whose malloc and free stand before those of the C library. There is
// nothing to call.

#endif
