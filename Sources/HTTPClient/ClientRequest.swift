public import CoreTypes
public import SystemCalls

/// One HTTP request, with the bounds of its transfer: what to send, where to connect, how long it may take,
/// how much may come back, and how fast.
///
/// ```swift
/// var request = ClientRequest(
///   url: "https://pull.example/v1/content/abc", headers: [("Range", "bytes=0-65535")])
/// request.maximumRedirects = 5
/// request.totalTimeout = .seconds(30)
/// request.lowSpeed = ClientRequest.LowSpeedLimit(bytesPerSecond: ByteCount(1024), duration: .seconds(20))
/// ```
public struct ClientRequest: Sendable {
  /// The lowest speed that a transfer may have. A transfer slower than this for so long (whole seconds, at
  /// least one) fails as timed out; one that is paused is not measured.
  public struct LowSpeedLimit: Hashable, Sendable {
    /// The average to keep; at least one byte.
    public var bytesPerSecond: ByteCount
    /// The time over which the speed is measured.
    public var duration: Duration

    /// A limit from its two parts.
    public init(bytesPerSecond: ByteCount, duration: Duration) {
      self.bytesPerSecond = bytesPerSecond
      self.duration = duration
    }
  }

  /// The method, a token: `GET`, `POST`.
  public var method: String
  /// Absolute, `http` or `https`, without user information.
  public var url: String
  /// Sent in this order. `Accept-Encoding` is `identity` unless given: bodies are never decoded here, since a
  /// content coding would move the offsets of ranges.
  public var headers: [(String, String)]
  /// The body of the request; `GET` and `HEAD` carry none.
  public var body: Body
  /// Connects there instead of to the URL's host, which still goes into `Host`. Redirects are then results.
  public var unixSocketPath: String?
  /// Until the connection is made, name lookup and TLS handshake included; at least a millisecond.
  public var connectTimeout: Duration = .seconds(10)
  /// From the start to the last byte, pauses included.
  public var totalTimeout: Duration?
  /// One byte a second over 60 seconds unless changed; nil for streams that may rest, such as server-sent
  /// events.
  public var lowSpeed: LowSpeedLimit? = LowSpeedLimit(bytesPerSecond: ByteCount(1), duration: .seconds(60))
  /// A longer body ends the transfer as ``HTTPClientError/Code/tooLarge``. Nil means 1 MiB for
  /// ``HTTPClient/send(_:)`` and no bound for ``HTTPClient/stream(_:to:)``.
  public var maximumResponseLength: ByteCount?
  /// Redirects to follow (GET and HEAD only; `https` never leads to `http`). Zero makes a redirect a result.
  /// On the way to another origin `Authorization` and `Cookie` are left out.
  public var maximumRedirects = 0
  /// How much is read from the socket at once: 1 KiB to 10 MiB. Nil means 512 KiB for streams, less
  /// under a speed cap, and 16 KiB otherwise.
  public var receiveBufferLength: ByteCount?
  /// Makes a connection of its own, which no later request uses: for what came wrong over a kept one.
  public var usesFreshConnection = false
  /// The certificates that this request trusts; nil for those that the client's configuration trusts.
  public var trust: ServerTrust?
  /// Whether ``ConnectionDetails/certificateExpiry`` is wanted; only a connection that this request makes tells it.
  public var describesCertificate = false
  /// Bytes per second, kept over a few seconds; short transfers may pass at full speed. Nil is no cap.
  public var maximumReceiveSpeed: ByteCount?

  /// A request with the defaults of every other property. Nothing is checked before it is sent.
  public init(
    method: String = "GET", url: String, headers: [(String, String)] = [], body: Body = .none
  ) {
    self.method = method
    self.url = url
    self.headers = headers
    self.body = body
  }
}

extension ClientRequest {
  /// The body of a request. It is sent with `Content-Length`. Above 1 MiB the client asks with `Expect:
  /// 100-continue` first, so that a refusal costs nothing.
  public enum Body: Sendable {
    /// No body; `POST`, `PUT` and `PATCH` say `Content-Length: 0` (RFC 9110 §8.6).
    case none
    /// A body that is in memory.
    case bytes([UInt8])
    /// A range of a file, read while it is sent. `progress` gets the bytes read so far, on the client's
    /// thread; it must not block. A repeated request (a kept connection that was gone) starts again from a
    /// lower number.
    case file(UploadFile, Range<Int64>, progress: (@Sendable (ByteCount) -> Void)? = nil)

    /// Bytes of the body; zero for ``none``.
    public var length: ByteCount {
      switch self {
      case .none: .zero
      case .bytes(let bytes): ByteCount(bytes.count)
      case .file(_, let range, _): ByteCount(range.upperBound - range.lowerBound)
      }
    }
  }
}

/// An open file that requests send from; it may serve several at once, and is closed when the last one lets
/// go.
public final class UploadFile: Sendable {
  let descriptor: FileDescriptor

  /// Shares `descriptor`, which must be open for reading.
  public init(takingOwnershipOf descriptor: consuming FileDescriptor) {
    self.descriptor = descriptor
  }

  /// Opens `path` for reading. Throws the ``SystemError`` of openat(2). Blocks.
  public convenience init(path: String) throws(SystemError) {
    self.init(takingOwnershipOf: try FileDescriptor.open(path, .readOnly))
  }
}

/// The certificates and keys by which a server's identity is trusted, for `https` alone.
///
/// ```swift
/// var trust = ServerTrust(certificateAuthorityFile: "/etc/pullbox/ca.pem")
/// trust.publicKeyPins = ["sha256//q7zKYJq0Dfs3Zp2Xv3fF5C7wVbpO0Qe1Xx1nqJt2m3A="]
/// ```
public struct ServerTrust: Hashable, Sendable {
  /// PEM file of the certificate authorities to trust in place of the system's; nil for the system's.
  public var certificateAuthorityFile: String?
  /// Where not empty, the server's public key must also be one of these: `sha256//` and the SHA-256 of the
  /// key's DER in base 64, 44 characters.
  public var publicKeyPins: [String]

  /// The system's authorities, and any key, unless given.
  public init(certificateAuthorityFile: String? = nil, publicKeyPins: [String] = []) {
    self.certificateAuthorityFile = certificateAuthorityFile
    self.publicKeyPins = publicKeyPins
  }

  /// Whether `text` is a pin as ``publicKeyPins`` holds them.
  public static func isPin(_ text: String) -> Bool {
    let prefix = "sha256//"
    guard text.hasPrefix(prefix) else { return false }
    // 32 bytes in base 64 are 43 digits and one `=`.
    let digits = text.dropFirst(prefix.count).utf8
    guard digits.count == 44, digits.last == 0x3D else { return false }
    return digits.dropLast().allSatisfy { byte in
      switch byte {
      case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2B, 0x2F: true
      default: false
      }
    }
  }
}
