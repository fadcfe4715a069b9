public import CoreTypes

/// Why a call to a store has no result. It never holds a key, a signature or a presigned address.
public struct ObjectStoreError: TemporarilyFailing, Sendable, CustomStringConvertible {
  /// The kind of a failure.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    /// The names, fit for a metric's label.
    private enum Name: String {
      case notFound
      case denied
      case wrongRegion
      case noSuchBucket
      case digestMismatch
      case tooLarge
      case outOfRange
      case outOfSpace
      case objectChanged
      case clockSkewed
      case unavailable
      case timedOut
      case malformedAnswer
      case refused
      case unreadableSource
      case invalidRequest
      case stopped
      case cancelled
    }

    /// The name.
    private let name: Name

    /// There is no object of that name.
    public static let notFound = Code(name: .notFound)
    /// The access key is unknown, the secret is another, or the key may not do that in the bucket.
    public static let denied = Code(name: .denied)
    /// The bucket lies in another region, which ``ObjectStoreError/region`` names where the store told it.
    public static let wrongRegion = Code(name: .wrongRegion)
    /// There is no bucket of that name.
    public static let noSuchBucket = Code(name: .noSuchBucket)
    /// The bytes that came to the store have another digest than was signed; the store kept nothing.
    public static let digestMismatch = Code(name: .digestMismatch)
    /// The object, or the body to send, is longer than its bound.
    public static let tooLarge = Code(name: .tooLarge)
    /// The object ends before the range that was asked for.
    public static let outOfRange = Code(name: .outOfRange)
    /// The bucket's quota, or the store itself, is full.
    public static let outOfSpace = Code(name: .outOfSpace)
    /// The object was replaced by another while it was read.
    public static let objectChanged = Code(name: .objectChanged)
    /// The store refuses the time of the request, also after this client took on the store's own.
    public static let clockSkewed = Code(name: .clockSkewed)
    /// The store cannot be reached, or cannot answer now.
    public static let unavailable = Code(name: .unavailable)
    /// The deadline passed, or the store was silent for too long.
    public static let timedOut = Code(name: .timedOut)
    /// The answer is none that S3 has: another length or range than was asked for, XML that cannot be read, a page of another server.
    public static let malformedAnswer = Code(name: .malformedAnswer)
    /// The store refuses for another reason; ``ObjectStoreError/storeCode`` is its own word for it.
    public static let refused = Code(name: .refused)
    /// The file to send could not be read, or is shorter than the range.
    public static let unreadableSource = Code(name: .unreadableSource)
    /// An argument is out of its bounds; nothing was sent.
    public static let invalidRequest = Code(name: .invalidRequest)
    /// The receiver wanted no more.
    public static let stopped = Code(name: .stopped)
    /// The task, or a handle, canceled the call.
    public static let cancelled = Code(name: .cancelled)

    /// Short and without values: fit for a metric's label.
    public var description: String { name.rawValue }
  }

  /// Why, for code.
  public let code: Code
  /// A sentence for people, without a full stop.
  public let message: String
  /// The error below this one; nil where the store itself answered.
  public let cause: (any Error)?
  /// The answer's status; nil without an answer.
  public let status: Int?
  /// The word of the store's own error document (`NoSuchKey`); nil without one. Letters, digits and periods alone.
  public let storeCode: String?
  /// The region that the store names; only with ``Code/wrongRegion``.
  public let region: String?

  /// An error as calls throw it; public for tests of callers.
  public init(
    code: Code, message: String, cause: (any Error)? = nil, status: Int? = nil, storeCode: String? = nil,
    region: String? = nil
  ) {
    self.code = code
    self.message = message
    self.cause = cause
    self.status = status
    self.storeCode = storeCode
    self.region = region
  }

  /// Whether the same call may succeed later.
  public var isRetryable: Bool {
    [.unavailable, .timedOut, .malformedAnswer, .objectChanged, .clockSkewed].contains(code)
  }

  /// A store that is full, silent or not to be reached; nil for what would fail again.
  public var temporaryFailure: TemporaryFailure? {
    if code == .outOfSpace { return .outOfSpace }
    return isRetryable ? .storage : nil
  }

  /// The code and the sentence.
  public var description: String { "\(code): \(message)" }

  /// The same error without the words of these secrets, nor parts of them: a store's message may repeat what it was sent.
  func withholding(_ secrets: [String]) -> ObjectStoreError {
    let forms = secrets + secrets.map(\.percentEncoded)
    let text = forms.reduce(message) { $0.replacing($1, with: Self.withheld) }
    var shown = ""
    var word = ""
    func end() {
      let isPart = word.utf8.count >= Self.leastPart && forms.contains { $0.contains(word) }
      shown += isPart ? Self.withheld : word
      word = ""
    }
    // A part may stand behind a sign, as in <Token>abc or token=abc.
    for character in text {
      if character.isLetter || character.isNumber || "+/%-_.~".contains(character) {
        word.append(character)
      } else {
        end()
        shown.append(character)
      }
    }
    end()
    return ObjectStoreError(
      code: code, message: shown, cause: cause, status: status, storeCode: storeCode,
      region: region)
  }

  /// Bytes of a word from which on it may be a part of a secret that a message has cut.
  private static let leastPart = 8
  private static let withheld = "(withheld)"

  /// The same error with more words behind its sentence.
  func appending(_ words: String) -> ObjectStoreError {
    ObjectStoreError(
      code: code, message: "\(message)\(words)", cause: cause, status: status, storeCode: storeCode,
      region: region)
  }
}
