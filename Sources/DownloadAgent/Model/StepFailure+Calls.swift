import PullboxAPIClient
import ContentPackage
import HTTPClient
import PullboxAPI
import SystemCalls

extension StepFailure {
  /// The two services that the agent calls.
  enum Peer: Sendable {
    case server
    case store
  }

  init(_ error: APICallError, from peer: Peer) {
    switch error {
    case .problem(let problem):
      self.init(problem)
      // What a store refuses to its customer may change with the customer's account; it is asked again.
      if peer == .store, reason == .serverUnavailable { reason = .storeUnavailable }
    case .unreachable(let error):
      self.init(error, from: peer)
    case .unexpectedResponse(let status, _):
      // A proxy's error page, most likely: it says nothing about the purchase, so it never fails a download.
      let unavailable: StatusReason = peer == .server ? .serverUnavailable : .storeUnavailable
      self = .retry((200..<500).contains(status) ? .protocolViolation : unavailable)
    }
  }

  init(_ error: HTTPClientError, from peer: Peer) {
    let unreachable: StatusReason = peer == .server ? .serverUnreachable : .storeUnreachable
    switch error.code {
    case .connectionLost, .timedOut: self = .retry(error.head == nil ? unreachable : .connectionLost)
    case .protocolViolation, .tooLarge, .tooManyRedirects: self = .retry(.protocolViolation)
    case .invalidRequest: self = .permanent(.protocolViolation)
    default: self = .retry(unreachable)
    }
  }

  init(_ error: SystemError) {
    self = .retry(error.isOutOfSpace ? .insufficientSpace : .storageFailure)
  }

  /// From anything that a step can throw. Cancellation is none of them: a stopped step has no outcome.
  init(_ error: any Error, from peer: Peer = .server) {
    switch error {
    case let error as StepFailure: self = error
    case let error as APICallError: self.init(error, from: peer)
    case let error as HTTPClientError: self.init(error, from: peer)
    case let error as SystemError: self.init(error)
    case is PackageValidationError: self = .permanent(.integrity)
    default: self = .retry(.storageFailure)
    }
  }
}
