import CoreTypes
import HTTPClient
import ServiceRuntime

/// A try that failed, with what decides about the next one.
struct TryFailure: Error {
  /// The error that the call throws where no further try is made.
  private(set) var error: ObjectStoreError
  /// Whether the same request is sent again after a pause.
  let isTransient: Bool
  /// How long the store wants to be left alone.
  var retryAfter: Duration?
  /// The store's own time, where the answer has it.
  var storeDate: Timestamp?

  /// A failure by an error; not repeated unless said otherwise.
  init(_ error: ObjectStoreError, isTransient: Bool = false) {
    self.error = error
    self.isTransient = isTransient
  }

  /// The same failure, whose error shows none of these secrets.
  func withholding(_ secrets: [String]) -> TryFailure {
    var failure = self
    failure.error = error.withholding(secrets)
    return failure
  }

  /// The store's time, where the answer gives reason to believe that the request was refused for ours, which is `now`.
  func dateToTakeOn(at now: Timestamp) -> Timestamp? {
    guard let storeDate, error.status == 403 || error.code == .clockSkewed else { return nil }
    let difference = storeDate - now
    let isFar = difference > .seconds(60) || difference < .seconds(-60)
    return isFar || error.code == .clockSkewed ? storeDate : nil
  }
}

extension TryFailure {
  /// A transfer that ended without a success: by a refusal, or without an answer.
  init(_ cause: HTTPClientError, method: String) {
    if cause.code == .refused, let head = cause.head {
      self.init(head, body: cause.body, method: method)
      return
    }
    let code: ObjectStoreError.Code =
      switch cause.code {
      case .cancelled: .cancelled
      case .stopped: .stopped
      case .timedOut: .timedOut
      case .protocolViolation, .tooManyRedirects, .tooLarge: .malformedAnswer
      case .unreadableBody: .unreadableSource
      case .invalidRequest: .invalidRequest
      default: .unavailable
      }
    self.init(
      ObjectStoreError(code: code, message: cause.message, cause: cause), isTransient: cause.isRetryable)
  }

  /// An answer that is no success.
  init(_ head: ResponseHead, body: [UInt8], method: String) {
    let document = StoreErrorDocument(body)
    let meaning = StoreMeaning(status: head.status, document: document, head: head, method: method)
    self.init(
      ObjectStoreError(
        code: meaning.code, message: meaning.sentence(status: head.status, document: document),
        status: head.status, storeCode: document.code, region: meaning.region),
      isTransient: meaning.isTransient)
    retryAfter = meaning.isTransient ? head.retryAfter : nil
    storeDate = head.date
  }

  /// An answer that contradicts what was asked for.
  static func malformed(_ message: String, status: Int? = nil) -> TryFailure {
    TryFailure(ObjectStoreError(code: .malformedAnswer, message: message, status: status))
  }
}

/// The document that S3 explains a refusal with. All members are empty for any other page.
struct StoreErrorDocument {
  /// The store's word for the error; at most 64 letters, digits, `-`, `.` and `_`.
  private(set) var code: String?
  /// For people; empty in the answers of some stores.
  private(set) var message = ""
  /// The region that the bucket lies in.
  private(set) var region: String?

  /// Bytes of a code or a region, at most.
  static let maximumCodeLength = 64
  /// Characters of a message, at most.
  static let maximumMessageLength = 300

  /// Reads the document. Bytes that are no such document give one without members.
  init(_ bytes: [UInt8]) {
    var reader = XMLPullReader(bytes)
    do throws(XMLPullReader.Fault) {
      while let event = try reader.next() {
        guard case .end(let name, let text) = event, reader.path == ["Error"] else { continue }
        switch name {
        case "Code" where code == nil && Self.isWord(text): code = text
        case "Message": message = String(PlainText.line(text).prefix(Self.maximumMessageLength))
        case "Region" where Self.isWord(text): region = text
        default: break
        }
      }
    } catch {
      // A page of something else than S3, or half of a document: the status alone counts.
      self.code = nil
      message = ""
      region = nil
    }
  }

  /// Whether the text can be a store's word, and can be shown.
  private static func isWord(_ text: String) -> Bool {
    (1...maximumCodeLength).contains(text.utf8.count)
      && text.utf8.allSatisfy { byte in
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F: true
        default: false
        }
      }
  }
}

/// The kind of a refusal, from the store's own word for it, and from the status where there is none.
private struct StoreMeaning {
  /// The kind of the refusal.
  var code = ObjectStoreError.Code.refused
  /// Whether the request is sent again.
  var isTransient = false
  /// The region that is named; kept with ``ObjectStoreError/Code/wrongRegion`` alone.
  var region: String?
  /// The beginning of the sentence for people.
  private var words = "the store refuses"

  /// The meaning by the document's word, else by the status.
  init(status: Int, document: StoreErrorDocument, head: ResponseHead, method: String) {
    region =
      document.region ?? head.headers["x-amz-bucket-region"].map { String(PlainText.line($0).prefix(64)) }
    if let code = document.code, understand(code, document) { return }
    understand(status: status, head: head, isOfS3: document.code != nil, method: method)
    if self.code != .wrongRegion { region = nil }
  }

  /// The sentence with status and word, and with the store's message.
  func sentence(status: Int, document: StoreErrorDocument) -> String {
    let code = document.code.map { " \($0)" } ?? ""
    return "\(words) (\(status)\(code))\(document.message.isEmpty ? "" : ": \(document.message)")"
  }

  /// Sets all of the meaning at once.
  private mutating func set(_ code: ObjectStoreError.Code, _ words: String, isTransient: Bool = false) {
    self.code = code
    self.words = words
    self.isTransient = isTransient
    if code != .wrongRegion { region = nil }
  }

  /// Sets the meaning of a bucket elsewhere, with the region where it is known.
  private mutating func setWrongRegion() {
    set(
      .wrongRegion,
      region.map { "the bucket lies in the region \($0)" } ?? "the bucket lies in another region")
  }

  /// False for a word that says no more than the status.
  private mutating func understand(_ word: String, _ document: StoreErrorDocument) -> Bool {
    switch word {
    case "NoSuchKey": set(.notFound, "there is no such object")
    case "NoSuchBucket": set(.noSuchBucket, "there is no such bucket")
    case "InvalidAccessKeyId": set(.denied, "the store does not know the access key")
    case "SignatureDoesNotMatch": set(.denied, "the secret key does not belong to the access key")
    case "ExpiredToken", "InvalidToken", "TokenRefreshRequired":
      set(.denied, "the session token counts no more")
    case "AccessDenied", "AllAccessDisabled", "AccountProblem", "InvalidSecurity", "NotSignedUp":
      set(.denied, "the key may not do this in the bucket")
    case "RequestTimeTooSkewed": set(.clockSkewed, "the clocks of the store and of this machine differ")
    case "PermanentRedirect", "TemporaryRedirect", "Redirect", "IllegalLocationConstraintException":
      setWrongRegion()
    case "AuthorizationHeaderMalformed" where document.region != nil || document.message.contains("region"):
      setWrongRegion()
    case "XAmzContentSHA256Mismatch", "BadDigest", "InvalidDigest":
      set(.digestMismatch, "the bytes that came have another digest than was signed")
    case "EntityTooLarge": set(.tooLarge, "the store takes no object of that length")
    case "InvalidRange": set(.outOfRange, "the object ends before the range")
    case "QuotaExceeded", "InsufficientStorage": set(.outOfSpace, "the store, or the bucket's quota, is full")
    case "SlowDown", "TooManyRequests", "RequestTimeout", "ServiceUnavailable", "InternalError", "Busy":
      set(.unavailable, "the store cannot answer now", isTransient: true)
    default: return false
    }
    return true
  }

  /// Sets the meaning by the status. A 404 counts as a missing object only where S3 has answered it.
  private mutating func understand(status: Int, head: ResponseHead, isOfS3: Bool, method: String) {
    switch status {
    case 300..<400 where head.headers["x-amz-bucket-region"] != nil: setWrongRegion()
    case 300..<400:
      let place = head.headers["Location"].map { " to \(PlainText.line($0).prefix(200))" } ?? ""
      set(.malformedAnswer, "the endpoint leads elsewhere\(place)")
    case 401, 403: set(.denied, "the key may not do this in the bucket")
    // A page of another server says nothing of the object, such as that of a proxy which has lost its store. The answer to HEAD
    // has no body: S3's are known by their fields.
    case 404 where isOfS3 || (method == "HEAD" && Self.hasFieldOfS3(head)):
      set(.notFound, "there is no such object")
    case 404: set(.malformedAnswer, "the answer is no page of S3: is this the right endpoint?")
    case 413: set(.tooLarge, "the store takes no object of that length")
    case 416: set(.outOfRange, "the object ends before the range")
    case 507: set(.outOfSpace, "the store, or the bucket's quota, is full")
    case 408, 429, 500, 502, 503, 504:
      set(.unavailable, "the store cannot answer now", isTransient: true)
    case 501: break
    case 505...: set(.unavailable, "the store cannot answer now")
    case ..<300: set(.malformedAnswer, "the status is none for this call")
    default: break
    }
  }

  /// Whether the head has a field that only S3 sends.
  private static func hasFieldOfS3(_ head: ResponseHead) -> Bool {
    head.headers.contains { $0.name.lowercased().hasPrefix("x-amz-") }
  }
}
