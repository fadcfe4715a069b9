package import CoreTypes
package import Crypto
import PullboxAPI

/// How an upload stands when a request comes to add to it.
package struct UploadState: Hashable, Sendable {
  /// Bytes that are there, and safe to continue behind.
  var offset: ByteCount
  /// Nil while the client has not said.
  var length: ByteCount?
  /// Nothing may be added any more.
  var isComplete: Bool
}

/// The decision on a request that adds to an upload.
package enum UploadDecision {
  /// Receive its bytes. `length` is the upload's, as far as it is known with this request.
  case receive(length: ByteCount?, end: CompletionRule)
  /// It was done before; only its answer was lost.
  case repeatAnswer
  /// The request gets the error, and the upload stays as it is.
  case refuse(any Error)
  /// Refused like `refuse`, and the upload is forgotten: its bytes are of no use.
  case abandon(any Error)
}

/// Which request's end is the upload's.
package enum CompletionRule: Hashable, Sendable {
  /// The one that reaches the length (tus).
  case atLength
  /// This one (`Upload-Complete: ?1`).
  case here
  /// A later one (`Upload-Complete: ?0`).
  case later
}

/// A request whose bytes go beyond the length of their upload. A chunked body tells that only as it comes.
package struct UploadOverrun {
  /// The error that the client gets.
  var error: any Error
  /// The upload is forgotten; else what came before the excess stays.
  var endsUpload: Bool
}

/// The rules of a protocol for one request that adds to an upload: pure, asked while no other request can
/// change the upload.
///
/// ``UploadService`` asks ``decide(_:)`` before it takes a byte, ``overrun(of:)`` where too many come, and
/// ``refusalToEnd(at:length:)`` once they have all come.
package protocol AppendPolicy: Sendable {
  /// The checksum that the request's bytes must have.
  var checksum: Checksum? { get }
  /// Decides by the state in which the upload is found. Called once for a request.
  func decide(_ state: UploadState) -> UploadDecision
  /// More bytes came than an upload of `length` has room for.
  func overrun(of length: ByteCount) -> UploadOverrun
  /// The bytes came without an error: may the upload end there? Nil, or why not.
  func refusalToEnd(at offset: ByteCount, length: ByteCount?) -> (any Error)?
}

extension AppendPolicy {
  func overrun(of length: ByteCount) -> UploadOverrun {
    UploadOverrun(
      error: Problem(.uploadTooLarge, "the upload ends at \(length.rawValue)"), endsUpload: false)
  }

  func refusalToEnd(at offset: ByteCount, length: ByteCount?) -> (any Error)? { nil }
}

/// PATCH of tus 1.0.0, and the bytes that come with a POST. https://tus.io/protocols/resumable-upload names its
/// fields.
struct TusAppend: AppendPolicy {
  /// `Upload-Offset`, or zero for the bytes of a POST.
  var offset: ByteCount
  /// `Upload-Length`, from the first request that knows it (creation-defer-length).
  var length: ByteCount?
  /// `Upload-Checksum`; nil for a request without one.
  var checksum: Checksum?
  /// Nil for a chunked body.
  var contentLength: ByteCount?

  /// Refuses `upload-offset-mismatch` with the right offset, `request-malformed` for another length than
  /// before, and `upload-too-large`.
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
  /// `Content-Digest` (RFC 9530); nil for a request without one.
  var checksum: Checksum?

  /// Refuses with the draft's own problems: a complete upload, another offset, lengths that do not agree. An
  /// upload whose announced end the request would pass is abandoned.
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

  /// The draft, Upload Append: the upload becomes invalid, and nothing more may be done with it.
  func overrun(of length: ByteCount) -> UploadOverrun {
    UploadOverrun(error: ResumableProblem.inconsistentLength, endsUpload: true)
  }

  /// Refuses an end at another offset than the length that was given.
  func refusalToEnd(at offset: ByteCount, length: ByteCount?) -> (any Error)? {
    guard let length, length != offset else { return nil }
    return ResumableProblem.inconsistentLength
  }

  /// The length that follows from a request that ends the upload and says how long it is itself.
  private var impliedLength: ByteCount? {
    guard isComplete, let contentLength else { return nil }
    return offset + contentLength
  }
}
