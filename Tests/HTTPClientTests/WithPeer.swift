import CoreTypes
import HTTPClient
import PullboxTesting
import SystemCalls

/// Runs `body` while a peer follows `scripts`; the peer is gone afterwards, however `body` ends.
func withPeer<Value>(
  _ scripts: [[ScriptedPeer.Step]], unixSocket path: String? = nil,
  _ body: (ScriptedPeer, HTTPClient) async throws -> Value
) async throws -> Value {
  let peer = try ScriptedPeer(scripts, unixSocket: path)
  let thread = BlockingThread(name: "peer")
  let client = try HTTPClient()
  async let served: Void = thread.run { peer.serve() }
  do {
    let value = try await body(peer, client)
    peer.close()
    await served
    client.shutDown()
    return value
  } catch {
    peer.close()
    await served
    throw error
  }
}

extension HTTPClient {
  /// How a transfer fails; nil when it does not.
  func failure(_ request: ClientRequest, to receiver: RecordingReceiver) async -> HTTPClientError? {
    do throws(HTTPClientError) {
      _ = try await stream(request, to: receiver)
      return nil
    } catch {
      return error
    }
  }
}

extension ClientRequest {
  /// With a bound, so that a broken client fails a test instead of hanging it.
  static func test(method: String = "GET", url: String) -> ClientRequest {
    var request = ClientRequest(method: method, url: url)
    request.totalTimeout = .seconds(120)
    return request
  }
}
