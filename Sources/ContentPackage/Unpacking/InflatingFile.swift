import CoreTypes
import Crypto
import Files
import Synchronization
import SystemCalls

/// A deflated file on its way into the tree: it is inflated as its stored bytes come, in their order, so that those need
/// not be kept. Used by one thread at a time; the lock only says so to the compiler.
final class InflatingFile: Sendable {
  /// Where the inflation can be taken up by another process, given what is in the file up to there.
  struct Checkpoint: Sendable {
    /// Stored bytes that are inflated.
    var position: Int64
    var boundary: InflateStream.Boundary
    /// Bytes of the file that they made.
    var length: Int64
    /// Has read those.
    var hasher: SHA256Hasher
  }

  private struct State: ~Copyable {
    var stream: InflateStream
    var target: FileDescriptor
    var hasher = SHA256Hasher()
    var position: Int64 = 0
    var length: Int64 = 0
    var lastByte: UInt8 = 0
    var isFinished = false
    var isReadBack = false
    var checkpoint: Checkpoint?
    var buffer: [UInt8]
  }

  private static let bufferLength = 256 << 10

  private let file: ManifestFile
  private let operations: any FileOperations
  /// Called with how far the file has come, and a hasher that has read so much of it.
  private let note: @Sendable (Int64, SHA256Hasher) -> Void
  private let state: Mutex<State>

  /// `target` is empty.
  init(
    _ file: ManifestFile, into target: consuming sending FileDescriptor, operations: any FileOperations,
    noting note: @escaping @Sendable (Int64, SHA256Hasher) -> Void = { _, _ in }
  ) throws {
    self.file = file
    self.operations = operations
    self.note = note
    state = Mutex(
      State(
        stream: try InflateStream(), target: target,
        buffer: Array(repeating: 0, count: Self.bufferLength)))
  }

  /// Goes on at `checkpoint`, whose bytes are in `target`.
  init(
    _ file: ManifestFile, into target: consuming sending FileDescriptor, resumingAt checkpoint: Checkpoint,
    operations: any FileOperations,
    noting note: @escaping @Sendable (Int64, SHA256Hasher) -> Void = { _, _ in }
  ) throws {
    self.file = file
    self.operations = operations
    self.note = note
    let count = Int(min(Int64(InflateStream.windowLength), checkpoint.length))
    var window: [UInt8] = []
    try operations.read(
      upTo: count, of: target, at: ByteCount(checkpoint.length - Int64(count)), into: &window)
    state = Mutex(
      State(
        stream: try InflateStream(resumingAt: checkpoint.boundary, window: window.span), target: target,
        hasher: checkpoint.hasher, position: checkpoint.position, length: checkpoint.length,
        lastByte: checkpoint.boundary.lastByte, isReadBack: true, checkpoint: checkpoint,
        buffer: Array(repeating: 0, count: Self.bufferLength)))
    note(checkpoint.length, checkpoint.hasher)
  }

  /// Stored bytes that are inflated.
  var position: Int64 { state.locked { $0.position } }
  /// The last place between two blocks that was passed.
  var checkpoint: Checkpoint? { state.locked { $0.checkpoint } }
  /// Whether any of what was inflated came from a disk: then a fault need not be the package's.
  var isReadBack: Bool { state.locked { $0.isReadBack } }

  func noteReadingBack() { state.locked { $0.isReadBack = true } }

  /// Inflates the next stored bytes. Throws ``PackageValidationError`` when they are none of the file's deflate stream.
  func append(_ bytes: Span<UInt8>) throws {
    try state.locked { state in
      // Lent by the state, so that both can be used at once.
      var buffer: [UInt8] = []
      swap(&buffer, &state.buffer)
      defer { swap(&buffer, &state.buffer) }
      var rest = bytes
      while true {
        guard !state.isFinished else {
          guard rest.isEmpty else { throw refusal("there are bytes behind its deflate stream") }
          return
        }
        var output = buffer.mutableSpan
        let (step, unusedBits): (CompressionStep, Int?)
        do throws(CompressionError) {
          (step, unusedBits) = try state.stream.runToBlock(rest, into: &output)
        } catch {
          guard error.reason == .invalidData else { throw error }
          throw refusal("its bytes are no deflate stream")
        }
        if step.consumed > 0 { state.lastByte = rest[step.consumed - 1] }
        state.position += Int64(step.consumed)
        let made = buffer.span.extracting(first: step.produced)
        guard state.length + Int64(made.count) <= file.length.rawValue else {
          throw refusal("it unpacks to more than \(file.length.rawValue) bytes")
        }
        state.hasher.update(made)
        if !made.isEmpty { try operations.write(made, to: state.target, at: ByteCount(state.length)) }
        state.length += Int64(made.count)
        if !made.isEmpty { note(state.length, state.hasher) }
        rest = rest.extracting(droppingFirst: step.consumed)
        if let unusedBits {
          state.checkpoint = Checkpoint(
            position: state.position,
            boundary: InflateStream.Boundary(unusedBits: unusedBits, lastByte: state.lastByte),
            length: state.length, hasher: state.hasher)
        }
        if step.outcome == .finished { state.isFinished = true }
        // Behind a block, the last one too, more can follow from bits that were taken already.
        let hasMoved = step.consumed > 0 || step.produced > 0
        if step.outcome == .needsInput, rest.isEmpty, !hasMoved { return }
      }
    }
  }

  /// After the last stored byte. Throws ``PackageValidationError`` unless the file is the one that the manifest lists.
  func finish() throws {
    try state.locked { state in
      guard state.isFinished else { throw refusal("its deflate stream does not end") }
      guard state.length == file.length.rawValue else {
        throw refusal("it unpacks to \(state.length) bytes, not \(file.length.rawValue)")
      }
      guard state.hasher.finalize() == file.digest else {
        throw PackageValidationError(
          .fileDigestMismatch, path: file.path.text, "the unpacked file is not the one the manifest lists")
      }
      try operations.startWriteback(of: 0..<state.length, in: state.target)
    }
  }

  private func refusal(_ detail: String) -> PackageValidationError {
    PackageValidationError(.compressedDataInvalid, path: file.path.text, detail)
  }
}
