import SystemCalls

/// Deflates a file in bounded memory.
enum Deflation {
  static let bufferLength = 256 << 10

  /// Calls `input` with the file's bytes as they are read and `output` with the deflate stream's; false when the file has
  /// not `length` bytes.
  static func run(
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
