/// What remains to be sent of a response.
struct OutputState {
  /// Bytes to be sent before anything else, from ``sent`` on.
  var bytes: [UInt8] = []
  var sent = 0
  /// Then this part of the connection's ``ClientConnection/file``.
  var fileOffset: Int64 = 0
  var fileEnd: Int64 = 0
  /// Then these.
  var parts: [BodyPart] = []
  var nextPart = 0
  /// Then what a handler streams.
  var isStream = false
  var isChunked = false
  var streamEnd: ExchangeState.StreamEnd?
  /// Waits for pages of the file.
  var isFetching = false
  /// The bytes at hand count for the meter from here on; beyond their count, none do.
  var bodyStart = 0

  var hasMoreThanBytes: Bool { fileOffset < fileEnd || nextPart < parts.count }
}
