#ifndef PULLBOX_CZLIB_SHIM_H
#define PULLBOX_CZLIB_SHIM_H

#include <zlib.h>

// deflateInit2 and inflateInit2 are macros that pass the header's version and structure size.
static inline int czlib_deflate_init(z_stream *stream, int level, int window_bits, int memory_level) {
  return deflateInit2(stream, level, Z_DEFLATED, window_bits, memory_level, Z_DEFAULT_STRATEGY);
}

static inline int czlib_inflate_init(z_stream *stream, int window_bits) {
  return inflateInit2(stream, window_bits);
}

// The macros of inflate's data_type: what zlib.h tells in words only.
static inline int czlib_is_behind_block(const z_stream *stream) {
  return (stream->data_type & 128) != 0 && (stream->data_type & 64) == 0;
}

static inline int czlib_unused_bits(const z_stream *stream) { return stream->data_type & 7; }

#endif
