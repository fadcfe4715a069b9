import ContentPackage
import CoreTypes
package import HTTPClient
package import PullboxAPI
package import PullboxAPIClient
package import SystemCalls

extension StepFailure {
  /// Decides by a problem document's code; by its status when this version does not know the code. A document
  /// that is not this contract's comes from something between here and the service.
  package init(_ problem: Problem) {
    let notBefore = problem.retryAfterSeconds.map { Duration.seconds(RetryAfter.obeyedSeconds(clamping: $0)) }
    switch problem.code {
    case .ticketExpired, .ticketInvalid, .ticketMissing:
      self.init(StepFailure.reason(of: problem), .renewTicket, problem: problem)
    // A server that does not know the device's key for the grant learns it with the receipt.
    case .grantUnknown, .proofMissing, .proofRefused, .renewalSecretMissing, .receiptNeeded:
      self.init(StepFailure.reason(of: problem), .requestGrant, problem: problem)
    case .tooManyRequests:
      self.init(.tooManyRequests, .retry(notBefore: notBefore), problem: problem)
    case .verificationUndetermined, .storeUnavailable, .clockSkew:
      self.init(StepFailure.reason(of: problem), .retry(notBefore: notBefore), problem: problem)
    default:
      switch problem.status {
      case 429 where !problem.isOurs:
        self.init(.tooManyRequests, .retry(notBefore: notBefore), problem: problem)
      case _ where !problem.isOurs:
        self.init(.networkNotOpen, .retry(notBefore: notBefore), problem: problem)
      case 408, 429, 500...599:
        self.init(.serverUnavailable, .retry(notBefore: notBefore), problem: problem)
      default:
        self.init(StepFailure.reason(of: problem), .giveUp, problem: problem)
      }
    }
    cause = Self.cause(of: problem)
  }

  /// The code's own text, also of a code this version does not know.
  package static func reason(of problem: Problem) -> StatusReason {
    StatusReason(rawValue: String(problem.type.dropFirst(ProblemCode.typePrefix.count)))
  }
}

extension StepFailure {
  /// The two services that the agent calls.
  package enum Peer: Sendable {
    case server
    case store
  }

  /// An answer that does not come from the service is always tried again.
  package init(_ error: APICallError, from peer: Peer) {
    switch error {
    case .problem(let problem):
      self.init(problem)
      // What a store refuses to its customer may change with the customer's account; it is asked again.
      if peer == .store, reason == .serverUnavailable { reason = .storeUnavailable }
    case .unreachable(let error):
      self.init(error, from: peer)
    case .unexpectedResponse(let status, _, let retryAfter, let isPage):
      // Nothing in this answer speaks for the service, so it says nothing about the purchase and never fails a
      // download. What it says about the time of the next try counts.
      let reason: StatusReason =
        switch status {
        // A limit of requests is about this device, also where a proxy counts them.
        case 429: .tooManyRequests
        // The right kind of document with other members: a service of another version, more likely.
        case ..<300 where !isPage: .protocolViolation
        default: .networkNotOpen
        }
      self = .retry(reason, notBefore: retryAfter, cause: Self.cause(of: error))
    }
  }

  /// `connection-lost` where the head of an answer had come.
  package init(_ error: HTTPClientError, from peer: Peer) {
    let unreachable: StatusReason = peer == .server ? .serverUnreachable : .storeUnreachable
    switch error.code {
    case .noNetwork: self = .retry(.noNetwork)
    case .connectionLost, .timedOut: self = .retry(error.head == nil ? unreachable : .connectionLost)
    case .protocolViolation, .tooLarge, .tooManyRedirects: self = .retry(.protocolViolation)
    case .certificateNotTrusted: self = .retry(.certificateNotTrusted)
    case .certificateOutOfDate: self = .retry(.certificateOutOfDate)
    case .certificateForAnotherName: self = .retry(.certificateForAnotherName)
    case .certificateNotPinned: self = .retry(.certificateNotPinned)
    case .proxyRefused: self = .retry(.networkNotOpen)
    case .invalidRequest: self = .permanent(.protocolViolation)
    default: self = .retry(unreachable)
    }
    cause = Self.cause(of: error)
  }

  /// Nothing but a name that the file system refuses is final.
  package init(_ error: SystemError) {
    guard !error.isNameRefused else {
      self = .permanent(.nameRefused, cause: Self.cause(of: error))
      return
    }
    self = .retry(error.isOutOfSpace ? .insufficientSpace : .storageFailure, cause: Self.cause(of: error))
  }

  /// Between two questions to the services what may be removed to make room.
  static let evictionPause: Duration = .seconds(900)

  /// The failure for any error that a step can throw. Cancellation is none of them: a stopped step has no
  /// outcome.
  package init(_ error: any Error, from peer: Peer = .server) {
    switch error {
    case let error as StepFailure: self = error
    case let error as APICallError: self.init(error, from: peer)
    case let error as HTTPClientError: self.init(error, from: peer)
    case let error as SystemError: self.init(error)
    case let error as LibraryOfflineError: self = .retry(.libraryOffline, cause: Self.cause(of: error))
    case let error as InsufficientSpaceError:
      self.init(
        .insufficientSpace, error.mayEvictLater ? .retry(notBefore: Self.evictionPause) : .awaitRoom,
        cause: Self.cause(of: error))
    // Other bytes than the grant promised may be right next time; right bytes that say something wrong stay wrong.
    case let error as PackageValidationError
    where error.faults.allSatisfy { $0.code == .manifestDigestMismatch }:
      self = .retry(.integrity, cause: Self.cause(of: error))
    case let error as PackageValidationError: self = .permanent(.integrity, cause: Self.cause(of: error))
    default: self = .retry(.storageFailure, cause: Self.cause(of: error))
    }
  }
}

extension StepFailure {
  /// The longest text of ``cause(of:)``, in characters.
  static let maximumCauseLength = 400

  /// Returns the error on one line, in the words of the part that failed: errno with its call and path, libcurl's
  /// message, or a problem's title and detail.
  package static func cause(of error: any Error) -> String {
    let text =
      switch error {
      case let error as APICallError: error.description
      case let error as HTTPClientError: error.message
      case let error as PackageValidationError: error.faults.map(\.detail).joined(separator: "; ")
      case let error as Problem: error.description
      default: "\(error)"
      }
    return String(
      text.split(whereSeparator: \.isWhitespace).joined(separator: " ").prefix(maximumCauseLength))
  }
}

extension APICallError {
  /// Whether the answer came from something between here and the service, a log-in page for example, instead of
  /// from the service.
  package var isForeign: Bool {
    switch self {
    case .problem(let problem): StepFailure(problem).reason == .networkNotOpen
    case .unreachable(let error): error.isForeign
    case .unexpectedResponse: StepFailure(self, from: .server).reason == .networkNotOpen
    }
  }
}

extension HTTPClientError {
  /// Whether something between here and the service took its place. Networks that want a log-in first put
  /// themselves there with a certificate of their own.
  package var isForeign: Bool { isCertificateFault || code == .proxyRefused }
}

extension Problem {
  /// Whether it speaks this contract's words, also newer ones.
  fileprivate var isOurs: Bool { type.hasPrefix(ProblemCode.typePrefix) }
}
