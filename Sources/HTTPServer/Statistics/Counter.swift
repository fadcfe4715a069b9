/// What a loop counts; the number is the counter's place in a ``CounterBlock``.
enum Counter {
  /// By status code, from 100 on.
  static func responses(_ status: Int) -> Int { status - 100 }
  static let responseCount = 900

  static let accepted = 900
  static let closed = 901
  static let responsesBegun = 902
  static let responsesEnded = 903
  static let bytesSent = 904
  static let bytesReceived = 905
  static let abortedBodies = 906
  static let firstByteNanoseconds = 907
  static let acceptPauses = 908

  /// In the order of ``HTTPServerStatistics/Refusal``.
  static let refusals = 910
  /// In the order of ``HTTPServerStatistics/Deadline``.
  static let deadlines = 920
  /// One for each bound of ``LatencyHistogram``, and one for what lies beyond the last.
  static let firstByte = 930

  static let count = firstByte + LatencyHistogram.bucketCount
}
