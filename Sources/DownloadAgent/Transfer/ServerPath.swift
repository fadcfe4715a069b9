import CoreTypes
import HTTPClient
import PullboxAPIClient

/// The state that all transfers from one server share: its address and trusted certificates, whether it can be reached,
/// its recent speed, and the pieces that its connections left unfinished.
struct ServerPath: Sendable {
  /// Nil for a server of which nothing but the URL is known.
  var api: APIClient?
  var network = NetworkGate()
  var clock: any MonotonicClock = SystemMonotonicClock()
  let speeds = SpeedHistory()
  let partials = PartialPieces()
  /// Called with how a transfer ended; nil for well, and as soon as it is known that the server itself answers.
  var onEnd: @Sendable (APICallError?) -> Void = { _ in }

  /// Throws for an address without https that a server with https names: the ticket would go out in clear.
  func checkScheme(of url: String) throws(StepFailure) {
    guard api?.keepsScheme(url) == false else { return }
    throw .permanent(
      .protocolViolation, cause: "the server is reached over https, and its grant names \(url)")
  }

  /// Whether the transfer that is about to begin is a probe. Throws while the way is not open.
  func admit() throws(StepFailure) -> Bool {
    do {
      return try network.admit()
    } catch {
      throw StepFailure(error, from: .server)
    }
  }

  /// The server itself has begun to answer: the bytes may take long.
  func noteAnswer() {
    onEnd(nil)
    network.noteAnswer()
  }

  /// How a transfer ended; nil for well. `isCertain` tells that the answer was the server's own.
  func note(_ error: APICallError?, isCertain: Bool, wasProbe: Bool) {
    guard !isCertain else { return noteAnswer() }
    onEnd(error)
    if let error {
      network.note(error, wasProbe: wasProbe)
    } else {
      network.note(
        .unexpectedResponse(status: 200, detail: "an answer without the package's tag", isPage: true),
        wasProbe: wasProbe)
    }
  }

  func request(_ url: String, headers: [(String, String)]) -> ClientRequest {
    api?.request("GET", url, headers: headers) ?? ClientRequest(url: url, headers: headers)
  }
}
