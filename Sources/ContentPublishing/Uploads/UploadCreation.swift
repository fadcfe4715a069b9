import CoreTypes
import Crypto
import DeliveryModel
import DeliveryRecords
import HTTPServer
import PullboxAPI
import RouteAccess

/// The outcome of a request for a new upload.
enum UploadCreation: Sendable {
  /// An upload that this request has made.
  case new(Upload)
  /// The request came before with its `Idempotency-Key`, and made this upload then.
  case repeated(id: String)

  /// The name of the upload, whichever request made it.
  var id: String {
    switch self {
    case .new(let upload): upload.id
    case .repeated(let id): id
    }
  }
}

extension IdempotentAnswers {
  /// Makes an upload, or finds the one that a request with the same key has made: a client whose connection broke before
  /// the answer was there would leave one behind that no client has an address of. The answer is kept before the upload's
  /// bytes are read. Throws what ``answer(_:by:fingerprint:_:)`` and `create` throw.
  func creation(
    _ request: HTTPRequest, of newUpload: NewUpload, by actor: String, _ create: () async throws -> Upload
  ) async throws -> UploadCreation {
    var made: Upload?
    let length = newUpload.length.map { String($0.rawValue) } ?? "?"
    let digest = newUpload.wholeDigest?.hexadecimal ?? "?"
    let fingerprint = "\(length) \(newUpload.awaitsEnd) \(digest) \(newUpload.metadata)"
    let (response, _) = try await answer(request, by: actor, fingerprint: Array(fingerprint.utf8)) {
      let upload = try await create()
      made = upload
      return HTTPResponse(
        status: .created, headers: ["Location": "\(UploadRoutes.path)/\(upload.id)"])
    }
    if let made { return .new(made) }
    let location = response.headers["Location"] ?? ""
    return .repeated(id: location.split(separator: "/").last.map(String.init) ?? "")
  }
}
