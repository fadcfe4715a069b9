public import CoreTypes
public import SystemCalls

/// A refusal by a blob store, or a failed call of the file system.
public struct BlobStoreError: TemporarilyFailing, Sendable, CustomStringConvertible {
  /// The kind of a failure; new kinds may be added.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    private enum Name: String {
      case notFound = "not found"
      case exists
      case inUse = "in use"
      case invalidIdentifier = "invalid identifier"
      case tooLarge = "too large"
      case wrongOffset = "wrong offset"
      case digestMismatch = "digest mismatch"
      case finished
      case outOfSpace = "out of space"
      case inputOutput = "input or output"
      case unreadable
      case unreachable
    }

    private let name: Name
    private init(_ name: Name) { self.name = name }

    /// There is no such blob or incoming file.
    public static let notFound = Code(.notFound)
    /// An incoming file has that identifier already.
    public static let exists = Code(.exists)
    /// Another writer is receiving into that file now, or a backup of the blobs is being taken; later it may be tried again.
    public static let inUse = Code(.inUse)
    /// The identifier cannot be the name of an incoming file.
    public static let invalidIdentifier = Code(.invalidIdentifier)
    /// Beyond the limit given when the file was begun.
    public static let tooLarge = Code(.tooLarge)
    /// The bytes do not continue where the file ends; ``BlobStoreError/offset`` says where that is.
    public static let wrongOffset = Code(.wrongOffset)
    /// The bytes are not those that the committer expected.
    public static let digestMismatch = Code(.digestMismatch)
    /// Committed or discarded before.
    public static let finished = Code(.finished)
    /// The bytes would eat into the reserve, or there is no space at all. Worth another try when some was made.
    public static let outOfSpace = Code(.outOfSpace)
    /// The file system refused; ``cause`` says what it said.
    public static let inputOutput = Code(.inputOutput)
    /// A blob cannot be opened or read where it is: its device fails, or something else has its name. ``cause`` says what the
    /// file system said. ``BlobDirectory`` alone tells this apart from `inputOutput`.
    public static let unreadable = Code(.unreadable)
    /// The packages lie in another place, which cannot be reached or cannot answer now. A ``BlobStore`` itself never throws it.
    public static let unreachable = Code(.unreachable)

    /// The code's name.
    public var description: String { name.rawValue }
  }

  /// The kind of this failure.
  public let code: Code
  /// A sentence for people.
  public let message: String
  /// With `wrongOffset`: where the next bytes belong.
  public let offset: ByteCount?
  /// The error of the file system; nil where no call of it failed.
  public let cause: SystemError?

  /// An error that no file system call explains.
  public init(_ code: Code, _ message: String, offset: ByteCount? = nil) {
    self.code = code
    self.message = message
    self.offset = offset
    cause = nil
  }

  init(_ cause: SystemError) {
    self.init(cause, otherwise: .inputOutput)
  }

  /// An error of a call that opens or reads a blob. `unreadable` is what is about that file alone.
  init(reading cause: SystemError) {
    self.init(cause, otherwise: cause.isUnreadable || cause.isNoRegularFile ? .unreadable : .inputOutput)
  }

  private init(_ cause: SystemError, otherwise code: Code) {
    self.code = cause.isOutOfSpace ? .outOfSpace : cause.isFileMissing ? .notFound : code
    message = "\(cause)"
    offset = nil
    self.cause = cause
  }

  /// A full disk or one that fails, or a place that cannot be reached; nil for what would fail again.
  public var temporaryFailure: TemporaryFailure? {
    switch code {
    case .outOfSpace: .outOfSpace
    case .inputOutput, .unreadable: .storage
    case .unreachable: .unreachable
    default: nil
    }
  }

  /// Whether a copy failed for the blob that it was to be made of: that is missing, damaged or cannot be read there, and may
  /// be whole elsewhere.
  public var isOfSource: Bool { code == .notFound || code == .digestMismatch || code == .unreadable }

  /// The sentence, and the cause where there is one.
  public var description: String { "\(code): \(message)" }
}

/// Runs `body` with its system errors told as those of the store.
func asBlobStoreError<Value: ~Copyable>(
  _ body: () throws(SystemError) -> Value
) throws(BlobStoreError) -> Value {
  do {
    return try body()
  } catch {
    throw BlobStoreError(error)
  }
}
