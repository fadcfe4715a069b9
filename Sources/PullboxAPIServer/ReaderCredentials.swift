import CoreTypes
import Crypto
public import HTTPServer

/// The name and the password that an application for reading shows: by `Basic` (RFC 7617, in UTF-8), or as `NAME.PASSWORD` by `Bearer`.
public struct ReaderCredentials: Hashable, Sendable {
  /// In lower case.
  public let name: String
  /// The password as it was shown.
  public let password: String

  /// Nil for a request that shows nothing that can be both.
  public init?(_ request: HTTPRequest) {
    if let token = request.credential(scheme: "Basic"), let bytes = Base64.decode(token),
      let text = String(validating: bytes, as: UTF8.self)
    {
      self.init(text, separatedBy: ":")
    } else if let token = request.bearerToken {
      self.init(token, separatedBy: ".")
    } else {
      return nil
    }
  }

  /// Nil unless `text` is a name of 1 to 64 visible ASCII characters, the separator, and a password of 256 bytes at most.
  public init?(_ text: String, separatedBy separator: Unicode.Scalar) {
    // By scalars: a password may begin with a mark that joins the separator to make one character of it.
    let parts = text.unicodeScalars.split(
      separator: separator, maxSplits: 1, omittingEmptySubsequences: false
    ).map { Substring($0) }
    guard parts.count == 2, (1...64).contains(parts[0].utf8.count), parts[1].utf8.count <= 256,
      parts[0].utf8.allSatisfy({ (0x21...0x7E).contains($0) })
    else { return nil }
    name = parts[0].lowercased()
    password = String(parts[1])
  }
}
