import CoreTypes
import PullboxAPI
import PullboxAPIClient
import ServiceRuntime

/// Decides, without any I/O, what a tus client does next. Exactly one request or one wait follows every
/// event.
struct UploadMachine {
  enum Event {
    case begun
    case created(url: String)
    /// The server says where the upload stands; `length` is nil when it did not say how long it will be.
    case stands(at: Int64, length: Int64?)
    /// A request was answered; the upload now ends there.
    case sent(upTo: Int64)
    case failed(APICallError)
    case waited
  }

  enum Action {
    case create
    case ask(url: String)
    case send(url: String, range: Range<Int64>)
    case wait(Duration, APICallError)
    case done(url: String)
    case fail(APICallError)
  }

  /// Uploads that the server may forget in one run before this gives up.
  static let maximumRestarts = 3

  let length: Int64
  /// The longest part sent in one request.
  let partLength: Int64
  let backoff: Backoff
  /// Failures in a row, without a byte of progress between them, before this gives up.
  let maximumFailures: Int

  private(set) var url: String?
  /// Where the upload stood when the server last answered.
  private(set) var offset: Int64 = 0
  /// Where the jitter of the delays comes from.
  private var generator: any RandomNumberGenerator & Sendable
  private var failures = 0
  private var restarts = 0

  init(
    length: Int64, url: String?, partLength: Int64 = .max, backoff: Backoff, maximumFailures: Int,
    generator: any RandomNumberGenerator & Sendable = SystemRandomNumberGenerator()
  ) {
    self.length = length
    self.url = url
    self.partLength = partLength
    self.backoff = backoff
    self.maximumFailures = maximumFailures
    self.generator = generator
  }

  mutating func handle(_ event: Event) -> Action {
    switch event {
    case .begun, .waited: return url.map { .ask(url: $0) } ?? .create
    case .created(let url):
      self.url = url
      offset = 0
      return proceed(url)
    case .stands(let offset, let length):
      guard let url else { return .create }
      guard (0...self.length).contains(offset), length == nil || length == self.length else {
        // What lies there is not this package.
        return restart(because: Self.otherUpload)
      }
      return move(to: offset, url)
    case .sent(let offset):
      guard let url else { return .create }
      guard offset > self.offset, offset <= length else { return .ask(url: url) }
      return move(to: offset, url)
    case .failed(let error): return handleFailure(error)
    }
  }

  private mutating func move(to offset: Int64, _ url: String) -> Action {
    if offset > self.offset { failures = 0 }
    self.offset = offset
    return proceed(url)
  }

  private func proceed(_ url: String) -> Action {
    guard offset < length else { return .done(url: url) }
    return .send(url: url, range: offset..<offset + min(partLength, length - offset))
  }

  private mutating func handleFailure(_ error: APICallError) -> Action {
    if case .problem(let problem) = error {
      switch problem.status {
      case 404 where url != nil, 410 where url != nil: return restart(because: error)
      // Another client's bytes came first, or ours did and the answer was lost: the server knows.
      case 409 where problem.code == .uploadOffsetMismatch, 423, 460: return wait(error)
      // Waiting makes no room; the upload can be resumed from here once the server has some.
      case 507: return .fail(error)
      default: break
      }
    }
    if case .unexpectedResponse(let status, _, _, _) = error, url != nil {
      // A HEAD has no body to say more.
      if status == 404 || status == 410 { return restart(because: error) }
      if status == 423 { return wait(error) }
    }
    return error.isTemporary ? wait(error) : .fail(error)
  }

  private mutating func wait(_ error: APICallError) -> Action {
    failures += 1
    guard failures <= maximumFailures else { return .fail(error) }
    let delay = error.retryAfter ?? backoff.delay(afterFailures: failures, using: &generator)
    return .wait(delay, error)
  }

  private mutating func restart(because error: APICallError) -> Action {
    restarts += 1
    guard restarts <= Self.maximumRestarts else { return .fail(error) }
    url = nil
    offset = 0
    return .create
  }

  private static var otherUpload: APICallError {
    .problem(Problem(.uploadUnknown, "the server holds another upload at that address"))
  }
}
