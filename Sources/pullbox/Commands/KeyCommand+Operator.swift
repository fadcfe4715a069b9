import Crypto
import PullboxAPI
import ServiceAPI
import ServiceRuntime

/// `pullbox key operator new`: a key for an operator of the delivery server, which keeps its hash alone.
extension KeyCommand {
  /// An entry of the server's `operatorKeys`, and of its file of operator keys.
  private struct Entry: Encodable {
    /// The name in the audit log.
    var name: String
    /// The permissions of the key, in the order of the options.
    var scopes: [OperatorScope]
    /// `sha256:` and the hash of the whole key in hexadecimal digits.
    var hash: String
  }

  /// The JSON document of a new key: the secret, and the line without it.
  private struct NewKey: Encodable {
    /// Nothing keeps it.
    var key: String
    /// The line for the server.
    var entry: Entry
  }

  /// The prefix of keys, which identifies one that was left somewhere by mistake. It is a part of the secret,
  /// and of what the hash is made of.
  private static let prefix = "pullbox_"

  /// Prints the key and the line for the server's file. The key has 256 random bits, and the line its
  /// SHA-256. Talks to no service: the server knows the key once the line is in its file.
  static func makeOperatorKey(_ context: CommandContext) throws {
    let arguments = context.arguments
    guard arguments.operands == ["operator", "new"] else {
      throw UsageError("'pullbox key' takes 'operator new' or no operand")
    }
    guard let name = arguments.value("name"), isName(name) else {
      throw UsageError("--name takes 1 to 64 of A-Z a-z 0-9 . _ -")
    }
    let scopes = try arguments.values("scope").map { text throws(UsageError) in
      guard let scope = OperatorScope(rawValue: text) else {
        throw UsageError("--scope takes read, publish, review or admin, not '\(text)'")
      }
      return scope
    }
    guard !scopes.isEmpty else { throw UsageError("--scope is missing: what may the key do?") }
    let key = prefix + RandomBytes.token(bits: 256)
    let made = NewKey(
      key: key,
      entry: Entry(name: name, scopes: scopes, hash: "sha256:\(SHA256Digest.of(key.utf8).hexadecimal)"))
    if context.console.printsJSON {
      try context.console.print(json: made)
    } else {
      let list = scopes.map { "'\($0.rawValue)'" }.joined(separator: ", ")
      context.console.print("key   \(made.key)")
      context.console.print("line  {name: '\(name)', scopes: [\(list)], hash: '\(made.entry.hash)'}")
      context.console.note("the key is shown once; the line goes into the server's operatorKeyFile")
    }
  }

  /// The names of keys that the audit log takes.
  private static func isName(_ text: String) -> Bool {
    (1...64).contains(text.utf8.count)
      && text.utf8.allSatisfy { byte in
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F: true
        default: false
        }
      }
  }
}
