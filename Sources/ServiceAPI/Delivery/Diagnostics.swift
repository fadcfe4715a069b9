public import CoreTypes

/// A report of the request as it arrived at the delivery server, through whatever lies between: the answer to `GET
/// /v1/diagnostics`. It shows no value that the client sent, only which values were present.
public struct DiagnosticReport: Codable, Hashable, Sendable {
  /// The server's version.
  public var version: String
  /// The server's clock.
  public var time: Timestamp
  /// The client's address as the server takes it: that of the connection, or the one that a trusted proxy named.
  public var client: String
  /// Whether the connection came from a proxy that the server trusts.
  public var isProxyTrusted: Bool
  /// Whether the server lets that proxy send files (`X-Accel-Redirect`).
  public var handsOff: Bool
  /// Those of ``reportedFields`` that arrived, in lower case, ascending.
  public var fields: [String]
  /// Names of the parameters that arrived, ascending.
  public var parameters: [String]

  /// Creates the document from its members.
  public init(
    version: String, time: Timestamp, client: String, isProxyTrusted: Bool, handsOff: Bool, fields: [String],
    parameters: [String]
  ) {
    self.version = version
    self.time = time
    self.client = client
    self.isProxyTrusted = isProxyTrusted
    self.handsOff = handsOff
    self.fields = fields
    self.parameters = parameters
  }

  /// The fields whose arrival is reported.
  public static let reportedFields = [
    "accept-encoding", "authorization", "forwarded", "if-none-match", "if-range", "range", "x-forwarded-for",
    "x-forwarded-host", "x-forwarded-proto",
  ]
}
