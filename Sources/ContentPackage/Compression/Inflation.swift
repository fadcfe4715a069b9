import CZlib
import CoreTypes
package import Crypto
package import SystemCalls

/// Inflates one file of a package, in bounded memory and no further than its manifest says.
package enum Inflation {
  /// Bytes that are inflated at once.
  static let bufferLength = 256 << 10

  /// Does the same as the method below for a file of a package, and returns the SHA-256 of the bytes.
  package static func run(
    _ source: borrowing FileDescriptor, range: Range<Int64>, of file: ManifestFile,
    _ body: (Span<UInt8>) throws -> Void
  ) throws -> SHA256Digest {
    var hasher = SHA256Hasher()
    try run(source, range: range, length: file.length.rawValue, name: file.path.text) { bytes in
      hasher.update(bytes)
      try body(bytes)
    }
    return hasher.finalize()
  }

  /// Inflates `range` of `source` and calls `body` with the bytes as they come. Throws ``PackageValidationError`` when the bytes are
  /// no deflate stream that takes exactly this range and makes exactly `length` bytes.
  package static func run(
    _ source: borrowing FileDescriptor, range: Range<Int64>, length: Int64, name: String,
    _ body: (Span<UInt8>) throws -> Void
  ) throws {
    var stream = try InflateStream()
    var output = [UInt8](repeating: 0, count: bufferLength)
    var produced: Int64 = 0
    var isFinished = false

    func inflate(_ input: Span<UInt8>) throws {
      var rest = input
      while true {
        if isFinished {
          guard rest.isEmpty else { throw refusal(of: name, "there are bytes behind its deflate stream") }
          return
        }
        var buffer = output.mutableSpan
        let step: CompressionStep
        do throws(CompressionError) {
          step = try stream.run(rest, into: &buffer)
        } catch {
          guard error.reason == .invalidData else { throw error }
          throw refusal(of: name, "its bytes are no deflate stream")
        }
        produced += Int64(step.produced)
        guard produced <= length else {
          throw refusal(of: name, "it unpacks to more than \(length) bytes")
        }
        let made = output.span.extracting(first: step.produced)
        try body(made)
        rest = rest.extracting(droppingFirst: step.consumed)
        switch step.outcome {
        case .finished: isFinished = true
        case .outputFull: break
        case .needsInput: return
        }
      }
    }

    let isWhole = try FileDigest.forEachChunk(of: source, in: range) { chunk in try inflate(chunk) }
    guard isWhole, isFinished else { throw refusal(of: name, "its deflate stream does not end") }
    guard produced == length else {
      throw refusal(of: name, "it unpacks to \(produced) bytes, not \(length)")
    }
  }

  /// The refusal of a file's bytes.
  private static func refusal(of name: String, _ detail: String) -> PackageValidationError {
    PackageValidationError(.compressedDataInvalid, path: name, detail)
  }
}

/// Owns one raw inflate (RFC 1951) of zlib.
@safe
struct InflateStream: ~Copyable {
  /// Where a stream can be taken up again: between two of its blocks. What was inflated up to there is needed beside it,
  /// at most the last ``windowLength`` bytes.
  struct Boundary: Hashable, Sendable {
    /// Bits of the byte before the boundary that belong behind it, 0 to 7.
    var unusedBits: Int
    /// The byte before the boundary.
    var lastByte: UInt8
  }

  /// The longest distance that a deflate stream may point back.
  static let windowLength = 32 << 10

  // zlib keeps a pointer back to the structure, so it must not move.
  private let stream: UnsafeMutablePointer<z_stream>

  /// A stream at its beginning. Throws ``CompressionError`` without memory.
  init() throws(CompressionError) {
    let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
    unsafe stream.initialize(to: z_stream())
    let code = unsafe czlib_inflate_init(stream, -MAX_WBITS)
    guard code == Z_OK else {
      unsafe stream.deallocate()
      throw .from(code, in: "inflateInit2")
    }
    unsafe self.stream = stream
  }

  /// Goes on behind `boundary`; `window` is what was inflated last before it.
  init(resumingAt boundary: Boundary, window: Span<UInt8>) throws(CompressionError) {
    let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
    unsafe stream.initialize(to: z_stream())
    var call: StaticString = "inflateInit2"
    var code = unsafe czlib_inflate_init(stream, -MAX_WBITS)
    if code == Z_OK, boundary.unusedBits > 0 {
      call = "inflatePrime"
      let bits = Int32(boundary.lastByte) >> Int32(8 - boundary.unusedBits)
      code = unsafe inflatePrime(stream, Int32(boundary.unusedBits), bits)
    }
    if code == Z_OK, !window.isEmpty {
      call = "inflateSetDictionary"
      code = unsafe window.withUnsafeBufferPointer {
        unsafe inflateSetDictionary(stream, $0.baseAddress, UInt32($0.count))
      }
    }
    guard code == Z_OK else {
      unsafe inflateEnd(stream)
      unsafe stream.deallocate()
      throw .from(code, in: call)
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
    let code = unsafe zlibCall(stream, input: input, output: &output) { unsafe inflate($0, Z_NO_FLUSH) }
    return try unsafe zlibStep(
      stream, inputCount: input.count, outputCount: output.count, code: code, call: "inflate")
  }

  /// The same, but stops behind every block as well. The second value is how many bits of the byte that was taken last
  /// are left there; nil elsewhere, and behind the last block.
  mutating func runToBlock(
    _ input: Span<UInt8>, into output: inout MutableSpan<UInt8>
  ) throws(CompressionError) -> (step: CompressionStep, unusedBits: Int?) {
    let code = unsafe zlibCall(stream, input: input, output: &output) { unsafe inflate($0, Z_BLOCK) }
    let step = try unsafe zlibStep(
      stream, inputCount: input.count, outputCount: output.count, code: code, call: "inflate")
    guard step.outcome != .finished, unsafe czlib_is_behind_block(stream) != 0 else { return (step, nil) }
    return (step, Int(unsafe czlib_unused_bits(stream)))
  }
}
