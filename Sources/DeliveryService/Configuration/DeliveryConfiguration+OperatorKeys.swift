import Crypto
public import PullboxAPI
import PullboxAPIServer
public import ServiceRuntime

extension DeliveryConfiguration {
  /// A key and what it may do. Either the key's hash is given or the key itself.
  public struct OperatorKey: Decodable, Sendable {
    /// What the audit log calls its holder.
    public var name: String
    /// The secret itself, at least ``minimumLength`` characters.
    public var key: Redacted<String>?
    /// `sha256:` and the 64 hexadecimal digits of the secret's SHA-256. A fast hash is enough for a secret that is
    /// random: 128 bits and more are not found by trying.
    public var hash: String?
    /// What its holder may do; `admin` includes the others.
    public var scopes: [OperatorScope]

    /// Characters that a secret has at least: base64url of 128 bits.
    public static let minimumLength = 22
  }

  /// The operator keys that count, and the names of those that stand in the configuration as plain text.
  struct Keyring: Sendable {
    var keys: [OperatorKeys.Key] = []
    var plain: [String] = []

    func warn(_ log: Log) {
      guard !plain.isEmpty else { return }
      log.warning(
        "operator keys stand in the configuration as plain text; a hash opens nothing where it is read",
        ["keys": LogValue(plain.joined(separator: " "))])
    }
  }

  /// Every operator key with its name, those of ``operatorKeyFile`` included. Blocks while it reads that file. Throws
  /// ``ConfigurationError`` where a key is too short or no hash, where two are the same or have the same name, and for a file
  /// that is not its owner's alone.
  func keyring() throws(ConfigurationError) -> Keyring {
    var keyring = Keyring()
    for entry in operatorKeys ?? [] { try Self.add(entry, to: &keyring, subject: "operatorKeys") }
    if let operatorKeyFile {
      for entry in try OperatorKeyFile.read(operatorKeyFile) {
        try Self.add(entry, to: &keyring, subject: operatorKeyFile)
      }
    }
    if let operatorKey {
      try Self.add(
        OperatorKey(name: "operator", key: operatorKey, scopes: [.admin]), to: &keyring,
        subject: "operatorKey")
    }
    guard Set(keyring.keys.map(\.secret)).count == keyring.keys.count else {
      throw ConfigurationError(subject: "operatorKeys", message: "two operator keys are the same")
    }
    guard Set(keyring.keys.map(\.holder.name)).count == keyring.keys.count else {
      throw ConfigurationError(
        subject: "operatorKeys",
        message: "two operator keys have the same name: the audit log could not tell them apart")
    }
    return keyring
  }

  private static func add(
    _ entry: OperatorKey, to keyring: inout Keyring, subject: String
  ) throws(ConfigurationError) {
    let secret: SecretDigest
    switch (entry.key?.revealed, entry.hash) {
    case (let key?, nil):
      guard key.utf8.count >= OperatorKey.minimumLength else {
        throw ConfigurationError(
          subject: subject,
          message:
            "the key of \(entry.name) has fewer than \(OperatorKey.minimumLength) characters, which could be guessed; "
            + "'pullbox key operator new' makes one")
      }
      secret = SecretDigest(of: key)
      keyring.plain.append(entry.name)
    case (nil, let hash?):
      guard hash.hasPrefix("sha256:"), let digest = SHA256Digest(hexadecimal: hash.dropFirst(7)) else {
        throw ConfigurationError(
          subject: subject, message: "the hash of \(entry.name) is not sha256: and 64 hexadecimal digits")
      }
      secret = SecretDigest(digest: digest)
    case (nil, nil), (.some, .some):
      throw ConfigurationError(subject: subject, message: "\(entry.name) has either a key or a hash")
    }
    keyring.keys.append(
      OperatorKeys.Key(holder: Operator(name: entry.name, scopes: Set(entry.scopes)), secret: secret))
  }
}

/// The file of operator keys: a table in JSON5 on each line, such as `{name: 'ada', scopes: ['read'], hash: 'sha256:…'}`;
/// empty lines, and those that begin with `//` or `#`, say nothing.
enum OperatorKeyFile {
  /// Blocks. Throws for a file that is missing, that others than its owner may read, or with a line that is no entry.
  static func read(_ path: String) throws(ConfigurationError) -> [DeliveryConfiguration.OperatorKey] {
    let text: String
    do {
      guard let bytes = try SecretFile.read(path) else {
        throw ConfigurationError(subject: path, message: "there is no such file of operator keys")
      }
      text = String(decoding: bytes.revealed, as: UTF8.self)
    } catch let error as ConfigurationError {
      throw error
    } catch {
      throw ConfigurationError(subject: "operatorKeyFile", message: "\(error)")
    }
    var entries: [DeliveryConfiguration.OperatorKey] = []
    for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
      let content = line.drop { $0 == " " || $0 == "\t" || $0 == "\r" }
      if content.isEmpty || content.hasPrefix("//") || content.hasPrefix("#") { continue }
      entries.append(
        try ConfigurationLoader.decode(
          DeliveryConfiguration.OperatorKey.self, fromTable: String(content),
          origin: "\(path), line \(index + 1)"))
    }
    return entries
  }
}
