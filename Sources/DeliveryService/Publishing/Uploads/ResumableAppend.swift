import Crypto
import CoreTypes
import PullboxAPI

/// A request of draft-ietf-httpbis-resumable-upload that adds to an upload: its creation, or an append.
struct ResumableAppend: AppendPolicy {
  /// `Upload-Offset`; zero at the creation.
  var offset: ByteCount
  /// `Upload-Complete`: whether the upload ends with this request's content.
  var isComplete: Bool
  /// `Upload-Length`.
  var length: ByteCount?
  /// Nil for a chunked body.
  var contentLength: ByteCount?
  var checksum: Checksum?

  func decide(_ state: UploadState) -> UploadDecision {
    if state.isComplete {
      // The request was processed and its answer lost: what it asks for is the case.
      let isEmptyEnd = offset == state.offset && (contentLength ?? .zero) == .zero
      return isComplete && isEmptyEnd ? .repeatAnswer : .refuse(ResumableProblem.completedUpload)
    }
    guard offset == state.offset else {
      return .refuse(ResumableProblem.mismatchingOffset(expected: state.offset, provided: offset))
    }
    let stated = [state.length, length, impliedLength].compactMap(\.self)
    if Set(stated).count > 1 { return .refuse(ResumableProblem.inconsistentLength) }
    let end = stated.first
    if let end, end < offset { return .refuse(ResumableProblem.inconsistentLength) }
    if let end, let contentLength, offset + contentLength > end {
      return .abandon(ResumableProblem.inconsistentLength)
    }
    guard max(end ?? .zero, offset + (contentLength ?? .zero)) <= UploadLimits.maximumLength else {
      return .refuse(Problem(.uploadTooLarge))
    }
    return .receive(length: end, end: isComplete ? .here : .later)
  }

  func refusalToEnd(at offset: ByteCount, length: ByteCount?) -> (any Error)? {
    guard let length, length != offset else { return nil }
    return ResumableProblem.inconsistentLength
  }

  /// Of a request that ends the upload and says how long it is itself.
  private var impliedLength: ByteCount? {
    guard isComplete, let contentLength else { return nil }
    return offset + contentLength
  }
}
