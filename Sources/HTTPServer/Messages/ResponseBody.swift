/// The content of a response as a value; the server moves the bytes.
public enum ResponseBody: Sendable {
  case none
  case bytes([UInt8])
  /// A part of a file, sent by sendfile(2). The range must lie within the file: a file that turns out shorter ends the
  /// connection, never pads. `meter` learns of the bytes as they leave.
  case file(SharedDescriptor, Range<Int64>, meter: (any BodyMeter)? = nil)
  /// Bytes and parts of files one after the other, such as `multipart/byteranges` (see ``MultipartRanges``).
  case parts([BodyPart], meter: (any BodyMeter)? = nil)
  /// Made while it is sent, by the closure, in the task that ran the handler. Chunked unless the length is known; then
  /// exactly that many bytes must be written. When the closure throws, the connection is closed short of the end, so that
  /// the client knows. The closure may wait as long as it likes between writes.
  case stream(contentLength: Int64? = nil, @Sendable (ResponseWriter) async throws -> Void)
}
