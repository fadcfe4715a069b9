import Crypto
import CoreTypes
import PullboxAPI

/// PATCH of tus 1.0.0, and the bytes that come with a POST.
struct TusAppend: AppendPolicy {
  var offset: ByteCount
  /// `Upload-Length`, from the first request that knows it (creation-defer-length).
  var length: ByteCount?
  var checksum: Checksum?
  /// Nil for a chunked body.
  var contentLength: ByteCount?

  func decide(_ state: UploadState) -> UploadDecision {
    guard offset == state.offset else {
      return .refuse(
        Problem(
          .uploadOffsetMismatch, "the upload stands at \(state.offset.rawValue)",
          expectedOffset: state.offset.rawValue))
    }
    if let known = state.length, let length, known != length {
      return .refuse(Problem(.requestMalformed, "Upload-Length was \(known.rawValue) before"))
    }
    let length = state.length ?? length
    if let length, length > UploadLimits.maximumLength || length < offset {
      return .refuse(Problem(.uploadTooLarge, "\(length.rawValue) bytes were announced"))
    }
    let room = (length ?? UploadLimits.maximumLength) - offset
    if let contentLength, contentLength > room {
      return .refuse(Problem(.uploadTooLarge, "the upload has room for \(room.rawValue) more bytes"))
    }
    return .receive(length: length, end: .atLength)
  }
}
