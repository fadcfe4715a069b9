/// The statement that a device signs to renew a ticket or to read a grant. It is the payload of the compact JWS in
/// `Authorization: PullboxDevice <JWS>`, which the device signs with EdDSA by the key that it gave. The protected header
/// has `alg` `EdDSA`, and neither `crit` nor `b64`.
///
/// ```json
/// {"iat":1795249800,"method":"POST","path":"/v1/grants/0123456789abcdef0123456789abcdef/tickets"}
/// ```
public struct DeviceProof: Codable, Hashable, Sendable {
  /// The scheme of the `Authorization` field.
  public static let scheme = "PullboxDevice"
  /// How much ``iat`` may differ from the server's clock, either way.
  public static let tolerance: Duration = .seconds(300)

  /// The request's method, in capitals.
  public var method: String
  /// The path of the grant's address from `/v1/grants/` on; it may have what a proxy takes away in front.
  public var path: String
  /// When it was signed: seconds since 1970-01-01T00:00:00Z by the server's clock, as the device knows it.
  public var iat: Int64

  /// Creates the payload from its members.
  public init(method: String, path: String, iat: Int64) {
    self.method = method
    self.path = path
    self.iat = iat
  }
}
