import Crypto
import PullboxAPI
import PullboxAPIServer
import RouteAccess
public import ServiceAPI
public import ServiceRuntime

extension DeliveryConfiguration {
  /// A key and what it may do. Either the key's hash is given or the key itself.
  public struct OperatorKey: Decodable, Sendable {
    /// The name of the key's holder in the audit log.
    public var name: String
    /// The secret itself, of at least 128 bits.
    public var key: Redacted<String>?
    /// `sha256:` and the 64 hexadecimal digits of the secret's SHA-256. A fast hash is enough for a secret that is
    /// random: 128 bits and more are not found by trying.
    public var hash: String?
    /// The scopes of the key; `admin` includes the others.
    public var scopes: [OperatorScope]
  }

  /// The operator keys that count, and the names of those that stand in the configuration as plain text.
  struct Keyring: Sendable {
    /// In the order of the configuration, then of the file.
    var keys: [OperatorKeys.Key] = []
    /// The names of keys that are written as they are, and not as a hash.
    var plain: [String] = []

    /// Warns once of keys that stand in the configuration as plain text.
    func warn(_ log: Log) {
      guard !plain.isEmpty else { return }
      log.warning(
        "operator keys stand in the configuration as plain text; a hash opens nothing where it is read",
        ["keys": LogValue(plain.joined(separator: " "))])
    }
  }

  /// Every operator key with its name, those of ``operatorKeyFile`` included. Blocks while it reads that file. Throws
  /// ``ConfigurationError`` with all faults: keys that could be guessed or are no hash, keys that are the same or have the same
  /// name, a file that is not its owner's alone.
  func keyring() throws(ConfigurationError) -> Keyring {
    var entries: [PlacedKey] = []
    for (index, key) in (operatorKeys ?? []).enumerated() {
      entries.append(PlacedKey(entry: key, subject: "operatorKeys.\(index)"))
    }
    var faults: [ConfigurationFault] = []
    if let operatorKeyFile {
      do throws(ConfigurationError) {
        entries += try OperatorKeyFile.read(operatorKeyFile)
      } catch {
        faults += error.faults
      }
    }
    if let operatorKey {
      let key = OperatorKey(name: "operator", key: operatorKey, scopes: [.admin])
      entries.append(PlacedKey(entry: key, subject: "operatorKey"))
    }
    var keyring = Keyring()
    var added: [(place: PlacedKey, secret: SecretDigest)] = []
    for place in entries {
      do throws(ConfigurationError) {
        let secret = try place.secret()
        if let other = added.first(where: { $0.secret == secret })?.place {
          throw place.error(
            "the keys \(other.entry.name) (\(other.description)) and \(place.entry.name) are the same")
        }
        if let other = added.first(where: { $0.place.entry.name == place.entry.name })?.place {
          throw place.error(
            "two keys have the same name, \(place.entry.name) (the other: \(other.description)): "
              + "the audit log could not tell them apart")
        }
        added.append((place, secret))
        if place.entry.key != nil { keyring.plain.append(place.entry.name) }
        let holder = Operator(name: place.entry.name, scopes: Set(place.entry.scopes))
        keyring.keys.append(OperatorKeys.Key(holder: holder, secret: secret))
      } catch {
        faults += error.faults
      }
    }
    if let error = ConfigurationError(faults) { throw error }
    return keyring
  }
}

/// An operator key, and where it stands.
struct PlacedKey {
  var entry: DeliveryConfiguration.OperatorKey
  /// The key of the configuration, or the file.
  var subject: String
  /// The line of the file.
  var origin: ConfigurationOrigin?

  /// Names the place for refusals: the line of the file, or the key of the configuration.
  var description: String { origin?.description ?? subject }

  /// Makes the error of this key, with the place at which the key stands.
  func error(_ message: String) -> ConfigurationError {
    ConfigurationError(subject: subject, message: message, origin: origin)
  }

  /// Returns the digest that offered keys are compared with. Throws for a key that could be guessed, and for a text that is
  /// no key.
  func secret() throws(ConfigurationError) -> SecretDigest {
    switch (entry.key?.revealed, entry.hash) {
    case (let key?, nil):
      let bits = SecretStrength.bits(of: key)
      guard bits >= SecretStrength.minimum else {
        throw error(
          "the key of \(entry.name) could be guessed: it has at most \(bits) bits, and \(SecretStrength.minimum) are needed; "
            + "'pullbox key operator new' makes one")
      }
      return SecretDigest(of: key)
    case (nil, let hash?):
      guard hash.hasPrefix("sha256:"), let digest = SHA256Digest(hexadecimal: hash.dropFirst(7)) else {
        throw error("the hash of \(entry.name) is not sha256: and 64 hexadecimal digits")
      }
      return SecretDigest(digest: digest)
    case (nil, nil), (.some, .some):
      throw error("\(entry.name) has either a key or a hash")
    }
  }
}

/// The file of operator keys: a table in JSON5 on each line, such as `{name: 'ada', scopes: ['read'], hash: 'sha256:…'}`;
/// empty lines, and those that begin with `//` or `#`, say nothing.
enum OperatorKeyFile {
  /// Blocks. Throws for a file that is missing, that others than its owner may read, or with a line that is no entry.
  static func read(_ path: String) throws(ConfigurationError) -> [PlacedKey] {
    let text: String
    do {
      guard let bytes = try SecretFile.read(path) else {
        throw ConfigurationError(
          subject: "operatorKeyFile", message: "there is no such file of operator keys: \(path)")
      }
      text = String(decoding: bytes.revealed, as: UTF8.self)
    } catch let error as ConfigurationError {
      throw error
    } catch {
      throw ConfigurationError(subject: "operatorKeyFile", message: "\(error)")
    }
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    return try lines.mapConfiguration { index, line throws(ConfigurationError) -> PlacedKey? in
      let content = line.drop { $0 == " " || $0 == "\t" || $0 == "\r" }
      if content.isEmpty || content.hasPrefix("//") || content.hasPrefix("#") { return nil }
      let origin = ConfigurationOrigin.file(path: path, line: index + 1, column: 1)
      let entry = try ConfigurationLoader.decode(
        DeliveryConfiguration.OperatorKey.self, fromTable: String(content), origin: origin)
      return PlacedKey(entry: entry, subject: path, origin: origin)
    }.compactMap { $0 }
  }
}
