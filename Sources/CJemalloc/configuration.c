#include "CJemalloc.h"

// jemalloc reads this symbol of the executable before its first allocation. One arena: threads have caches of their own, so that they
// seldom meet there, and what one leaves free another takes. These caches keep no piece of more than 4 KiB: of bodies and buffers each
// thread would keep several. What lies free for a fifth of a second goes back to the system, by a thread of jemalloc's own.
const char *malloc_conf = "narenas:1,dirty_decay_ms:200,muzzy_decay_ms:0,lg_tcache_max:12,background_thread:true";
