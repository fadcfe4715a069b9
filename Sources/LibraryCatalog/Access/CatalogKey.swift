import CatalogDocuments
import PullboxAPI
import PullboxAPIServer
package import ServiceRuntime

/// The key by which programs of this device read the library as a catalog. It is made when the catalog is served for the first time, and
/// lies in a file that only the agent's user may read.
package struct CatalogKey: Sendable {
  /// The file's content.
  private struct Document: Codable {
    var name: String
    var password: String
  }

  /// The file's name in the agent's state directory.
  static let fileName = "catalog-key"

  /// The name under which programs sign in.
  package let name: String
  /// Four words with hyphens between them.
  package let password: Redacted<String>
  private let digest: SecretDigest

  /// Reads the key of a state directory; makes one where there is none. Blocks. Throws ``ConfigurationError`` for a file that others may
  /// read, or that is no key.
  package init(in state: String) throws(ConfigurationError) {
    let path = "\(state)/\(Self.fileName)"
    do {
      let bytes = try SecretFile.readOrCreate(path) {
        try APIJSON.encode(Document(name: ReaderPassword.makeName(), password: ReaderPassword.make()))
      }
      let document = try APIJSON.decode(Document.self, from: bytes.revealed)
      name = document.name
      password = Redacted(document.password)
      digest = SecretDigest(of: ReaderPassword.canonical(document.password))
    } catch let error as SecretFileError {
      throw ConfigurationError(subject: "catalogListen", message: "\(error)")
    } catch {
      throw ConfigurationError(
        subject: "catalogListen", message: "\(path) holds no key; remove it, and another is made")
    }
  }

  /// Whether these are the name and the password; case, and what stands between the words, do not count.
  func matches(_ credentials: ReaderCredentials) -> Bool {
    // Compared also for another name: the time tells nothing of names.
    let isPassword = digest.matches(ReaderPassword.canonical(credentials.password))
    return isPassword && credentials.name == name
  }
}
