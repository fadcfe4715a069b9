import CZlib
package import SystemCalls

/// Deflates a file in bounded memory.
package enum Deflation {
  /// Bytes that are deflated at once.
  static let bufferLength = 256 << 10

  /// Calls `input` with the file's bytes as they are read and `output` with the deflate stream's; false when the file has
  /// not `length` bytes.
  package static func run(
    _ file: borrowing FileDescriptor, length: Int64, input: (Span<UInt8>) throws -> Void,
    output: (Span<UInt8>) throws -> Void
  ) throws -> Bool {
    var stream = try DeflateStream()
    var buffer = [UInt8](repeating: 0, count: bufferLength)

    func feed(_ chunk: Span<UInt8>, isLast: Bool) throws {
      var rest = chunk
      while true {
        var space = buffer.mutableSpan
        let step = try stream.run(rest, isLast: isLast, into: &space)
        let made = buffer.span.extracting(first: step.produced)
        if !made.isEmpty { try output(made) }
        rest = rest.extracting(droppingFirst: step.consumed)
        switch step.outcome {
        case .finished: return
        case .outputFull: break
        case .needsInput: if !isLast { return }
        }
      }
    }

    let isWhole = try FileDigest.forEachChunk(of: file, in: 0..<length) { chunk in
      try input(chunk)
      try feed(chunk, isLast: false)
    }
    guard isWhole else { return false }
    let nothing: [UInt8] = []
    try feed(nothing.span, isLast: true)
    return true
  }
}

/// Owns one raw deflate (RFC 1951) of zlib, at the level that packages use.
@safe
package struct DeflateStream: ~Copyable {
  /// zlib's own default. Part of what makes packages deterministic; docs/formats/package.md names it.
  static let level: Int32 = 6
  /// The memory that zlib uses for its state: 1 to 9, of which 8 is its default. It changes the stream, and so belongs to
  /// the format.
  static let memoryLevel: Int32 = 8

  // zlib keeps a pointer back to the structure, so it must not move.
  private let stream: UnsafeMutablePointer<z_stream>

  /// A stream at its beginning. Throws ``CompressionError`` without memory.
  package init() throws(CompressionError) {
    let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
    unsafe stream.initialize(to: z_stream())
    let code = unsafe czlib_deflate_init(stream, Self.level, -MAX_WBITS, Self.memoryLevel)
    guard code == Z_OK else {
      unsafe stream.deallocate()
      throw .from(code, in: "deflateInit2")
    }
    unsafe self.stream = stream
  }

  deinit {
    unsafe deflateEnd(stream)
    unsafe stream.deallocate()
  }

  /// Deflates from `input` into `output` until one is used up. With `isLast`, `input` is all that follows: call again with
  /// the rest and a new output until the outcome is `finished`.
  package mutating func run(
    _ input: Span<UInt8>, isLast: Bool, into output: inout MutableSpan<UInt8>
  ) throws(CompressionError) -> CompressionStep {
    let flush = isLast ? Z_FINISH : Z_NO_FLUSH
    let code = unsafe zlibCall(stream, input: input, output: &output) { unsafe deflate($0, flush) }
    return try unsafe zlibStep(
      stream, inputCount: input.count, outputCount: output.count, code: code, call: "deflate")
  }
}
