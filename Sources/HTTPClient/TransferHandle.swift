public import CoreTypes
import Synchronization

/// Steers one running transfer, from any thread. After the transfer's end all calls do nothing.
public struct TransferHandle: Sendable {
  let token: TransferToken
  let mailbox: TransferMailbox

  /// Stops moving bytes in both directions; the connection stays open. The total time-out goes on.
  public func pause() {
    mailbox.post(.pause(token))
  }

  /// Moves bytes again after ``pause()``, or after a receiver has answered ``BodyDecision/pause``.
  public func resume() {
    mailbox.post(.resume(token))
  }

  /// Ends the transfer as ``HTTPClientError/Code/cancelled``, unless it has ended by itself.
  public func cancel() {
    token.markCancelled()
    mailbox.post(.cancel(token))
  }
}

/// The counts and times of a transfer that ran to its end.
public struct TransferSummary: Sendable {
  /// The final head.
  public var head: ResponseHead
  /// Bytes of the response's body that the receiver consumed.
  public var bytesReceived: ByteCount
  /// Bytes of the request's body.
  public var bytesSent: ByteCount
  /// From the start to the last byte.
  public var duration: Duration
  /// Until the first byte of the response.
  public var timeToFirstByte: Duration
  /// Zero where a kept connection was used.
  public var newConnections: Int
  /// Redirects followed.
  public var redirects: Int
  /// The connection that the last response came over.
  public var connection: ConnectionDetails
}

/// The address of a connection and the times that it took to make; zero durations where a kept connection was
/// used.
public struct ConnectionDetails: Hashable, Sendable {
  /// The address of the host, or of its proxy, without the port; empty for a Unix socket.
  public var remoteAddress: String
  /// Until the host's name was resolved.
  public var nameLookup: Duration
  /// From there until the connection was made.
  public var connect: Duration
  /// From there until TLS was agreed on; nil without TLS.
  public var handshake: Duration?
  /// `HTTP/1.1` or `HTTP/1.0`, as the response begins; nil where libcurl does not tell.
  public var httpVersion: String?
  /// Such as `TLSv1.3`; nil without TLS, and unless ``ClientRequest/describesCertificate`` asked for it.
  public var tlsVersion: String?
  /// When the peer's certificate ends; nil unless ``ClientRequest/describesCertificate`` asked for it.
  public var certificateExpiry: Timestamp?

  /// Details that no connection brought, for tests.
  public init(
    remoteAddress: String, nameLookup: Duration = .zero, connect: Duration = .zero,
    handshake: Duration? = nil, httpVersion: String? = nil, tlsVersion: String? = nil,
    certificateExpiry: Timestamp? = nil
  ) {
    self.remoteAddress = remoteAddress
    self.nameLookup = nameLookup
    self.connect = connect
    self.handshake = handshake
    self.httpVersion = httpVersion
    self.tlsVersion = tlsVersion
    self.certificateExpiry = certificateExpiry
  }
}

/// A certificate's date as libcurl writes it, by OpenSSL: `Nov  6 08:49:37 2027 GMT`.
enum CertificateDate {
  static func read(_ text: String) -> Timestamp? {
    let parts = text.split(separator: " ")
    guard parts.count == 5, parts[4] == "GMT",
      let month = ResponseHead.months.firstIndex(of: String(parts[0]))
    else { return nil }
    func two(_ text: some StringProtocol) -> String { text.utf8.count < 2 ? "0\(text)" : String(text) }
    return Timestamp(rfc3339: "\(parts[3])-\(two(String(month + 1)))-\(two(parts[1]))T\(parts[2])Z")
  }
}

/// Names one transfer across threads, and remembers whether it was cancelled, possibly before the loop
/// knew it.
final class TransferToken: Sendable {
  private let cancelled = Atomic(false)

  var isCancelled: Bool { cancelled.load(ordering: .acquiring) }

  func markCancelled() {
    cancelled.store(true, ordering: .releasing)
  }
}
