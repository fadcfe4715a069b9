package import CoreTypes
import Synchronization

/// Inflates one file of a package whose bytes come from elsewhere, part by part: in bounded memory, and no further than the file's
/// length. One task at a time uses it.
///
/// ```swift
/// let inflater = try FileInflater(length: page.length, name: page.name)
/// for try await part in parts {
///   inflater.feed(part)
///   while let bytes = try inflater.next() { try await writer.write(bytes) }
/// }
/// try inflater.finish()
/// ```
package final class FileInflater: Sendable {
  /// Bytes that ``next()`` returns at once, at most.
  package static let outputLength = 64 << 10

  /// The stream and the bytes on their way through it.
  private struct State: ~Copyable {
    /// The stream of zlib.
    var stream: InflateStream
    /// The bytes that were fed last.
    var input: [UInt8] = []
    /// Bytes of ``input`` that the stream has taken.
    var consumed = 0
    /// Whether the stream has more to give without more input.
    var isFull = false
    /// Whether the stream has ended.
    var isFinished = false
    /// Bytes of the file so far.
    var produced: Int64 = 0
  }

  /// Bytes of the file once inflated.
  private let length: Int64
  /// The file's name for messages.
  private let name: String
  /// Guards the stream: a reader may go from thread to thread.
  private let state: Mutex<State>

  /// `length` is that of the file once inflated, and `name` its own for messages. Throws ``CompressionError`` without memory.
  package init(length: ByteCount, name: String) throws(CompressionError) {
    self.length = length.rawValue
    self.name = name
    state = Mutex(State(stream: try InflateStream()))
  }

  /// Takes the next bytes of the deflate stream, once ``next()`` has returned nil for those before.
  package func feed(_ bytes: [UInt8]) {
    state.locked { state in
      state.input = bytes
      state.consumed = 0
    }
  }

  /// Returns the next bytes of the file; nil where more have to be fed for them. Throws ``PackageValidationError`` for bytes that are no
  /// deflate stream, lie behind its end, or make more than the file's length.
  package func next() throws -> [UInt8]? {
    try state.locked { state -> [UInt8]? in
      guard state.consumed < state.input.count || state.isFull else { return nil }
      guard !state.isFinished else { throw refusal("there are bytes behind its deflate stream") }
      var output = [UInt8](repeating: 0, count: Self.outputLength)
      let input = state.input
      let step: CompressionStep
      do throws(CompressionError) {
        var buffer = output.mutableSpan
        step = try state.stream.run(input.span.extracting(droppingFirst: state.consumed), into: &buffer)
      } catch {
        guard error.reason == .invalidData else { throw error }
        throw refusal("its bytes are no deflate stream")
      }
      state.consumed += step.consumed
      state.produced += Int64(step.produced)
      state.isFull = step.outcome == .outputFull
      state.isFinished = step.outcome == .finished
      guard state.produced <= length else { throw refusal("it unpacks to more than \(length) bytes") }
      guard step.produced > 0 else {
        if state.isFinished, state.consumed < input.count {
          throw refusal("there are bytes behind its deflate stream")
        }
        return nil
      }
      output.removeLast(output.count - step.produced)
      return output
    }
  }

  /// Throws ``PackageValidationError`` unless the stream has ended where the file does.
  package func finish() throws(PackageValidationError) {
    let (isWhole, produced) = state.locked { state in
      (state.isFinished && state.consumed == state.input.count, state.produced)
    }
    guard isWhole else { throw refusal("its deflate stream does not end") }
    guard produced == length else { throw refusal("it unpacks to \(produced) bytes, not \(length)") }
  }

  /// The refusal of the file's bytes.
  private func refusal(_ detail: String) -> PackageValidationError {
    PackageValidationError(.compressedDataInvalid, path: name, detail)
  }
}
