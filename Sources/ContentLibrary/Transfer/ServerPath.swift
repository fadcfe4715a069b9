import AgentRecords
package import CoreTypes
package import HTTPClient
package import PullboxAPIClient

/// The state that all transfers from one server share: its address and trusted certificates, whether it can be reached,
/// its recent speed, the pieces that its connections left unfinished, and the connections beside the first ones.
package struct ServerPath: Sendable {
  /// Nil for a server of which nothing but the URL is known.
  package var api: APIClient?
  /// Closed while something else answers in the server's place.
  package var network = NetworkGate()
  /// Measures how long transfers take, for their speed.
  package var clock: any MonotonicClock = SystemMonotonicClock()
  package let speeds = SpeedHistory()
  let partials = PartialPieces()
  let allowance = ConnectionAllowance()
  /// Called with how a transfer ended; nil for well, and as soon as it is known that the server itself answers.
  package var onEnd: @Sendable (APICallError?) -> Void = { _ in }

  package init(
    api: APIClient? = nil, network: NetworkGate = NetworkGate(),
    clock: any MonotonicClock = SystemMonotonicClock(),
    onEnd: @escaping @Sendable (APICallError?) -> Void = { _ in }
  ) {
    self.api = api
    self.network = network
    self.clock = clock
    self.onEnd = onEnd
  }

  /// Throws for an address without https that a server with https names: the ticket would go out in clear.
  func checkScheme(of url: String) throws(StepFailure) {
    guard api?.keepsScheme(url) == false else { return }
    throw .permanent(
      .protocolViolation, cause: "the server is reached over https, and its grant names \(url)")
  }

  /// Admits the transfer that is about to begin. Throws while the way is not open.
  func admit() throws(StepFailure) -> NetworkGate.Admission {
    do {
      return try network.admit()
    } catch {
      throw StepFailure(error, from: .server)
    }
  }

  /// The server itself has begun to answer: the bytes may take long.
  func noteAnswer(to transfer: NetworkGate.Admission) {
    onEnd(nil)
    network.noteAnswer(to: transfer)
  }

  /// How a transfer ended; nil for well. `isCertain` tells that the answer was the server's own.
  package func note(_ error: APICallError?, isCertain: Bool, to transfer: NetworkGate.Admission) {
    guard !isCertain else { return noteAnswer(to: transfer) }
    onEnd(error)
    if let error {
      network.note(error, to: transfer)
    } else {
      network.note(
        .unexpectedResponse(status: 200, detail: "an answer without the package's tag", isPage: true),
        to: transfer)
    }
  }

  /// This side ended the transfer before its answer had shown anything.
  func giveUp(_ transfer: NetworkGate.Admission) { network.giveUp(transfer) }

  /// Made by the server's client, with its trust, where that is known.
  package func request(_ url: String, headers: [(String, String)]) -> ClientRequest {
    api?.request("GET", url, headers: headers) ?? ClientRequest(url: url, headers: headers)
  }
}
