import CZlib

/// Owns one raw inflate (RFC 1951) of zlib.
@safe
struct InflateStream: ~Copyable {
  // zlib keeps a pointer back to the structure, so it must not move.
  private let stream: UnsafeMutablePointer<z_stream>

  init() throws(CompressionError) {
    let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
    unsafe stream.initialize(to: z_stream())
    let code = unsafe czlib_inflate_init(stream, -MAX_WBITS)
    guard code == Z_OK else {
      unsafe stream.deallocate()
      throw .from(code, "inflateInit2")
    }
    unsafe self.stream = stream
  }

  deinit {
    unsafe inflateEnd(stream)
    unsafe stream.deallocate()
  }

  /// Inflates from `input` into `output` until one is used up or the stream ends. Throws
  /// ``CompressionError/Reason/invalidData`` for bytes that are no deflate stream.
  mutating func run(
    _ input: Span<UInt8>, into output: inout MutableSpan<UInt8>
  ) throws(CompressionError) -> CompressionStep {
    let code = unsafe zlibCall(stream, input, &output) { unsafe inflate($0, Z_NO_FLUSH) }
    return try unsafe zlibStep(stream, input.count, output.count, code, "inflate")
  }
}
