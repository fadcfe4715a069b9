public import CoreTypes
import FoundationEssentials
public import ServiceRuntime

/// The keys by which a store knows this installation. However it is printed, it tells its access key alone.
///
/// A key file is a JSON object, or two or three lines:
///
/// ```text
/// {"accessKey": "account:user", "secretKey": "…", "sessionToken": "…"}
///
/// account:user
/// …
/// ```
///
/// Both forms let keys have a colon, as those of OpenStack Swift have. The session token, which temporary keys have, may be left
/// out of either.
public struct ObjectStoreCredentials: Hashable, Sendable {
  /// The name of the key. It travels in the open with every request.
  public let accessKey: String
  /// The key itself.
  public let secretKey: Redacted<String>
  /// Sent with every request that temporary keys sign; nil for lasting ones.
  public let sessionToken: Redacted<String>?

  /// Bytes of a key file, at most.
  public static let maximumFileLength = ByteCount.kibibytes(4)

  /// Nil where one of them is empty or has a space, a control character, a character beyond ASCII, or, in the access key, a comma:
  /// no store gives out such a key, and it would change what a header field means.
  public init?(accessKey: String, secretKey: String, sessionToken: String? = nil) {
    guard Self.isKey(accessKey), !accessKey.utf8.contains(UInt8(ascii: ",")), Self.isKey(secretKey),
      sessionToken.map(Self.isKey) ?? true
    else { return nil }
    self.accessKey = accessKey
    self.secretKey = Redacted(secretKey)
    self.sessionToken = sessionToken.map { Redacted($0) }
  }

  /// Whether the text is visible ASCII without a space.
  private static func isKey(_ text: String) -> Bool {
    !text.isEmpty && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
  }

  /// Reads a key file. Throws for a file that is missing, longer than ``maximumFileLength``, open to others than its owner,
  /// or in neither form; the error quotes nothing of it. Blocks.
  public init(file path: String) throws(SecretFileError) {
    guard let bytes = try SecretFile.read(path) else {
      throw SecretFileError(path: path, message: "there is no such file")
    }
    guard ByteCount(bytes.revealed.count) <= Self.maximumFileLength else {
      throw SecretFileError(path: path, message: "it is longer than \(Self.maximumFileLength)")
    }
    guard let credentials = Self.parse(bytes.revealed) else {
      throw SecretFileError(
        path: path,
        message: "it holds neither a JSON object with accessKey and secretKey nor these two in a line each")
    }
    self = credentials
  }

  /// The members of a key file in JSON.
  private struct KeyFile: Decodable {
    /// The name of the key.
    var accessKey: String
    /// The key itself.
    var secretKey: String
    /// The token of temporary keys.
    var sessionToken: String?
  }

  /// The keys in a file's bytes, in either form; nil for any other content.
  static func parse(_ bytes: [UInt8]) -> ObjectStoreCredentials? {
    guard let text = String(validating: bytes, as: UTF8.self) else { return nil }
    let lines = text.split(whereSeparator: \.isNewline).map { line in
      line.drop { $0 == " " || $0 == "\t" }
    }
    if lines.first?.first == "{" {
      guard let file = try? JSONDecoder().decode(KeyFile.self, from: Data(bytes)) else { return nil }
      return ObjectStoreCredentials(
        accessKey: file.accessKey, secretKey: file.secretKey, sessionToken: file.sessionToken)
    }
    let words = lines.map { line in
      var line = line
      while line.last == " " || line.last == "\t" { line.removeLast() }
      return String(line)
    }
    guard (2...3).contains(words.count) else { return nil }
    return ObjectStoreCredentials(
      accessKey: words[0], secretKey: words[1], sessionToken: words.count == 3 ? words[2] : nil)
  }
}

extension ObjectStoreCredentials {
  /// The parts that no message may show.
  var secrets: [String] { [secretKey, sessionToken].compactMap { $0?.revealed } }
}

extension ObjectStoreCredentials: CustomStringConvertible {
  /// The access key alone.
  public var description: String { "access key \(accessKey)" }
}
