import Digests
import Measures
import SystemCalls

/// Inflates one file of a package, in bounded memory and no further than its manifest says.
enum Inflation {
  static let bufferLength = 256 << 10

  /// Inflates `range` of `source` and calls `body` with the bytes as they come; answers their SHA-256. Throws
  /// ``PackageRefusal`` when the bytes are no deflate stream that takes exactly this range and makes exactly
  /// `file.length` bytes.
  static func run(
    _ source: borrowing FileDescriptor, range: Range<Int64>, of file: ManifestFile,
    _ body: (Span<UInt8>) throws -> Void
  ) throws -> SHA256Digest {
    var hasher = SHA256Hasher()
    var stream = try InflateStream()
    var output = [UInt8](repeating: 0, count: bufferLength)
    var produced: Int64 = 0
    var isFinished = false

    func take(_ input: Span<UInt8>) throws {
      var rest = input
      while true {
        if isFinished {
          guard rest.isEmpty else { throw refusal(file, "there are bytes behind its deflate stream") }
          return
        }
        var buffer = output.mutableSpan
        let step: CompressionStep
        do throws(CompressionError) {
          step = try stream.run(rest, into: &buffer)
        } catch {
          guard error.reason == .invalidData else { throw error }
          throw refusal(file, "its bytes are no deflate stream")
        }
        produced += Int64(step.produced)
        guard produced <= file.length.rawValue else {
          throw refusal(file, "it unpacks to more than \(file.length.rawValue) bytes")
        }
        let made = output.span.extracting(first: step.produced)
        hasher.update(made)
        try body(made)
        rest = rest.extracting(droppingFirst: step.consumed)
        switch step.outcome {
        case .finished: isFinished = true
        case .outputFull: break
        case .needsInput: return
        }
      }
    }

    let isWhole = try FileDigest.forEachChunk(of: source, in: range) { chunk in try take(chunk) }
    guard isWhole, isFinished else { throw refusal(file, "its deflate stream does not end") }
    guard produced == file.length.rawValue else {
      throw refusal(file, "it unpacks to \(produced) bytes, not \(file.length.rawValue)")
    }
    return hasher.finalize()
  }

  private static func refusal(_ file: ManifestFile, _ detail: String) -> PackageRefusal {
    PackageRefusal(.compressedDataInvalid, path: file.path.text, detail)
  }
}
