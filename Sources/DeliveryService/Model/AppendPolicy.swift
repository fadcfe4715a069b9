import Crypto
import CoreTypes

/// How an upload stands when a request comes to add to it.
struct UploadState: Hashable, Sendable {
  var offset: ByteCount
  /// Nil while the client has not said.
  var length: ByteCount?
  /// Nothing may be added any more.
  var isComplete: Bool
}

/// What is done with a request that adds to an upload.
enum UploadDecision {
  /// Take its bytes. `length` is the upload's, as far as it is known with this request.
  case receive(length: ByteCount?, end: CompletionRule)
  /// It was done before; only its answer was lost.
  case repeatAnswer
  case refuse(any Error)
  /// As `refuse`, and the upload is forgotten: what came is of no use.
  case abandon(any Error)
}

/// Which request's end is the upload's.
enum CompletionRule: Hashable, Sendable {
  /// The one that reaches the length (tus).
  case atLength
  /// This one (`Upload-Complete: ?1`).
  case here
  /// A later one (`Upload-Complete: ?0`).
  case later
}

/// The rules of a protocol for one request that adds to an upload: pure, asked while nobody else can change the upload.
protocol AppendPolicy: Sendable {
  /// What the request's bytes must add up to.
  var checksum: Checksum? { get }
  func decide(_ state: UploadState) -> UploadDecision
  /// The bytes came without an error: may the upload end there? Nil, or why not.
  func refusalToEnd(at offset: ByteCount, length: ByteCount?) -> (any Error)?
}

extension AppendPolicy {
  func refusalToEnd(at offset: ByteCount, length: ByteCount?) -> (any Error)? { nil }
}
