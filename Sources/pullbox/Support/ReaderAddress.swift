import CoreTypes
import PullboxAPI

/// The address of a catalog with name and password in it (RFC 3986 §3.2.1), which a camera gives an application in one: browsers sign in by
/// it, and applications that do not show its parts to be copied.
enum ReaderAddress {
  /// `https://NAME:PASSWORD@comics.example/opds`. Nil for an address that no other program reaches, such as a socket's.
  static func text(of key: NewReaderKey) -> String? {
    for scheme in ["https://", "http://"] where key.address.hasPrefix(scheme) {
      return
        "\(scheme)\(key.name.percentEncoded):\(key.password.percentEncoded)@\(key.address.dropFirst(scheme.count))"
    }
    return nil
  }
}
