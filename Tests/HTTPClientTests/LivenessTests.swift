import CLinux
import CoreTypes
import Glibc
import PullboxTesting
import Testing

@testable import HTTPClient

/// The means that keep a client alive when libcurl fails, and the signs that it is.
struct LivenessTests {
  private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

  @Test("a client whose libcurl fails ends its transfers as ones to repeat, and serves the next (R2)")
  func restart() async throws {
    let faults = Locked(0)
    let gate = Gate()
    try await withPeer([
      [.readRequest, .pass(gate), .untilClosed], [.readRequest, .send(Self.ok)],
    ]) { peer, _ in
      var configuration = HTTPClientConfiguration()
      configuration.loopFault = {
        faults.withLock { count in
          guard count > 0 else { return nil }
          count -= 1
          return HTTPClientError(code: .internalFailure, message: "curl_multi_poll: injected")
        }
      }
      let client = try HTTPClient(configuration: configuration)
      let receiver = RecordingReceiver()
      async let failure = client.failure(.test(method: "GET", url: peer.url), to: receiver)
      while peer.requests.isEmpty { await Task.yield() }
      faults.withLock { $0 = 3 }
      // Wakes the loop into its first failing turn.
      await client.pulse()
      let error = try #require(await failure)
      #expect(error.code == .internalFailure && error.isRetryable)
      #expect(error.message.contains("injected"))
      gate.open()
      while faults.current > 0 { await Task.yield() }
      #expect(try await client.send(.test(method: "GET", url: peer.url)).status == 200)
      #expect(faults.current == 0)
      client.shutDown()
    }
  }

  @Test("the pulse comes from the client's own thread, and at once when that is gone (R2)")
  func pulse() async throws {
    let client = try HTTPClient()
    await client.pulse()
    client.shutDown()
    await client.pulse()
    await client.pulse()
  }

  @Test("a proxy that refuses a tunnel is named as such", arguments: [407, 403])
  func proxies(status: Int) async throws {
    try await withPeer([[.readHead, .send("HTTP/1.1 \(status) No\r\nContent-Length: 0\r\n\r\n")]]) {
      peer, client in
      // No other test of this process leaves the loopback, for which a proxy does not count.
      unsafe setenv("https_proxy", peer.url, 1)
      defer { unsafe unsetenv("https_proxy") }
      let error = await client.failure(
        .test(method: "GET", url: "https://pull.invalid/"), to: RecordingReceiver())
      #expect(error?.code == .proxyRefused && error?.isRetryable == true)
      #expect(error?.message.contains("\(status)") == true)
    }
  }

  @Test("OpenSSL's verdicts, and libcurl's on the name, have each their code")
  func certificateFaults() {
    // From x509_vfy.h: 9 not yet valid, 10 expired, 18 self-signed, 19 self-signed in chain, 20 no local issuer.
    #expect(Transfer.certificateFault(verification: 9) == .certificateOutOfDate)
    #expect(Transfer.certificateFault(verification: 10) == .certificateOutOfDate)
    #expect(Transfer.certificateFault(verification: 18) == .certificateNotTrusted)
    #expect(Transfer.certificateFault(verification: 20) == .certificateNotTrusted)
    #expect(Transfer.certificateFault(verification: 62) == .certificateForAnotherName)
    #expect(Transfer.certificateFault(verification: 0) == .certificateForAnotherName)
  }

  @Test("a pin is the SHA-256 of a key in base 64")
  func pins() {
    #expect(ServerTrust.isPin("sha256//q7zKYJq0Dfs3Zp2Xv3fF5C7wVbpO0Qe1Xx1nqJt2m3A="))
    for text in [
      "", "sha256//", "sha256//abc=", "q7zKYJq0Dfs3Zp2Xv3fF5C7wVbpO0Qe1Xx1nqJt2m3A=",
      "sha256//q7zKYJq0Dfs3Zp2Xv3fF5C7wVbpO0Qe1Xx1nqJt2m3;=",
    ] {
      #expect(!ServerTrust.isPin(text), "\(text)")
    }
  }
}
