import CZlib

/// Lends `input` and `output` to the stream for one call.
func zlibCall(
  _ stream: UnsafeMutablePointer<z_stream>, input: Span<UInt8>, output: inout MutableSpan<UInt8>,
  call: (UnsafeMutablePointer<z_stream>) -> Int32
) -> Int32 {
  unsafe input.withUnsafeBufferPointer { input in
    unsafe output.withUnsafeMutableBufferPointer { output in
      // next_in is not const for historical reasons; zlib only reads there.
      unsafe stream.pointee.next_in = UnsafeMutablePointer(mutating: input.baseAddress)
      unsafe stream.pointee.avail_in = UInt32(input.count)
      unsafe stream.pointee.next_out = output.baseAddress
      unsafe stream.pointee.avail_out = UInt32(output.count)
      defer {
        unsafe stream.pointee.next_in = nil
        unsafe stream.pointee.next_out = nil
      }
      return unsafe call(stream)
    }
  }
}

/// Reads off the stream what a call did. `Z_BUF_ERROR` only says that nothing could move: an outcome, not an error.
func zlibStep(
  _ stream: UnsafeMutablePointer<z_stream>, inputCount: Int, outputCount: Int, code: Int32,
  call: StaticString
) throws(CompressionError) -> CompressionStep {
  let outcome: CompressionStep.Outcome
  switch code {
  case Z_STREAM_END: outcome = .finished
  case Z_OK, Z_BUF_ERROR: outcome = unsafe stream.pointee.avail_out == 0 ? .outputFull : .needsInput
  default: throw .from(code, in: call)
  }
  return CompressionStep(
    consumed: inputCount - Int(unsafe stream.pointee.avail_in),
    produced: outputCount - Int(unsafe stream.pointee.avail_out), outcome: outcome)
}

/// The effect of one call to a compression stream. A full output buffer is an outcome like any other: give it
/// a new one.
package struct CompressionStep {
  /// The reason for which a call has ended.
  package enum Outcome {
    /// All of the input was taken, and the stream has not ended.
    case needsInput
    /// The output is full; there may be more.
    case outputFull
    /// The stream has ended.
    case finished
  }

  /// Bytes taken from the front of the input.
  package let consumed: Int
  /// Bytes put at the front of the output.
  package let produced: Int
  /// The reason for which the call has ended.
  package let outcome: Outcome
}

/// zlib could not go on.
package struct CompressionError: Error, Hashable {
  /// The cause of the failure.
  package enum Reason: Hashable {
    /// The bytes are no deflate stream.
    case invalidData
    /// zlib got no memory.
    case outOfMemory
  }

  /// The cause of the failure.
  package let reason: Reason

  /// From a zlib code that is none of the outcomes a stream expects. `Z_STREAM_ERROR` and `Z_VERSION_ERROR` mean a defect
  /// of ours.
  static func from(_ code: Int32, in call: StaticString) -> CompressionError {
    switch code {
    case -3, 2: return CompressionError(reason: .invalidData)
    case -4: return CompressionError(reason: .outOfMemory)
    default: preconditionFailure("\(call) answered \(code)")
    }
  }
}
