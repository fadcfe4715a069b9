import CZlib

/// Owns one raw deflate (RFC 1951) of zlib, at the level that packages use.
@safe
struct DeflateStream: ~Copyable {
  /// zlib's own default. Part of what makes packages deterministic; docs/formats/package.md names it.
  static let level: Int32 = 6
  static let memoryLevel: Int32 = 8

  // zlib keeps a pointer back to the structure, so it must not move.
  private let stream: UnsafeMutablePointer<z_stream>

  init() throws(CompressionError) {
    let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
    unsafe stream.initialize(to: z_stream())
    let code = unsafe czlib_deflate_init(stream, Self.level, -MAX_WBITS, Self.memoryLevel)
    guard code == Z_OK else {
      unsafe stream.deallocate()
      throw .from(code, "deflateInit2")
    }
    unsafe self.stream = stream
  }

  deinit {
    unsafe deflateEnd(stream)
    unsafe stream.deallocate()
  }

  /// Deflates from `input` into `output` until one is used up. With `isLast`, `input` is all that follows: call again with
  /// the rest and a new output until the outcome is `finished`.
  mutating func run(
    _ input: Span<UInt8>, isLast: Bool, into output: inout MutableSpan<UInt8>
  ) throws(CompressionError) -> CompressionStep {
    let flush = isLast ? Z_FINISH : Z_NO_FLUSH
    let code = unsafe zlibCall(stream, input, &output) { unsafe deflate($0, flush) }
    return try unsafe zlibStep(stream, input.count, output.count, code, "deflate")
  }
}
