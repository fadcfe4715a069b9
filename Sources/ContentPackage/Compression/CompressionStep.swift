/// What one call to a compression stream did. A full output buffer is an outcome like any other: give it a new one.
struct CompressionStep {
  enum Outcome {
    case needsInput
    case outputFull
    case finished
  }

  /// Bytes taken from the front of the input.
  let consumed: Int
  /// Bytes put at the front of the output.
  let produced: Int
  let outcome: Outcome
}
