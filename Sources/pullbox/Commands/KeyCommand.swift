import Commerce
import ContentPackage
import Crypto
import PullboxKit
import PullboxOperatorKit
import ServiceRuntime
import SystemCalls

/// `key`: the publisher's own key, or with the operands `operator new` a key for an operator.
enum KeyCommand: Command {
  static let peer = CommandPeer.offline
  static let description = CommandDescription(
    "key", summary: "Show, import or export the key that signs packages; generate an operator key",
    discussion: """
      The key is generated when it is first needed. Keep a copy (--export): without
      it you cannot publish another version of a product that names the key. Key
      files have Ed25519 keys in PEM, as 'openssl genpkey -algorithm ed25519' writes
      them.

      'pullbox key operator new --name NAME --scope SCOPE' generates a key for an
      operator of the delivery server instead. It prints the key, once, and the
      line for the server's file of operator keys, which holds only its hash.
      """,
    operands: [.init("ACTION", isRequired: false, repeats: true)],
    options: [
      .value("import", "FILE", environment: .none, help: "Import this key and sign with it from now on"),
      .value(
        "export", "FILE", environment: .none, help: "Write a copy of the secret key"),
      .flag("public", environment: .none, help: "Print only the public key, in PEM"),
      .value(
        "name", "NAME", environment: .none,
        help: "With 'operator new': name of the key's holder in the audit log"),
      .list(
        "scope", "SCOPE", environment: .none,
        help: "With 'operator new': read, publish, review or admin; may be repeated"),
    ])

  /// The JSON document of the key's public half.
  private struct Report: Encodable {
    /// The name of the key in products and signatures.
    var keyId: PublisherKeyIdentifier
    /// The public key in the form of the interface.
    var publicKey: VerificationKey
    /// The path of the file with the secret half, mode 0600.
    var file: String
  }

  /// An import comes before an export, so that both together copy the imported key. Only the public half is
  /// ever printed.
  static func run(_ context: CommandContext) async throws {
    let arguments = context.arguments
    guard arguments.operands.isEmpty else { return try makeOperatorKey(context) }
    if let option = ["name", "scope"].first(where: { !arguments.values($0).isEmpty }) {
      throw UsageError("--\(option) belongs to 'key operator new'")
    }
    let (imported, exported) = (arguments.value("import"), arguments.value("export"))
    let file = CommandStateDirectory().signingKey
    let key = try await BlockingPool.shared.run {
      let key = try imported.map { try importKey(at: $0, as: file) } ?? file.readOrMake()
      if let exported { try write(key, to: exported) }
      return key.verificationKey
    }
    let report = Report(keyId: key.publisherKeyIdentifier, publicKey: key, file: file.path)
    if context.console.printsJSON {
      try context.console.print(json: report)
    } else if arguments.isSet("public") {
      context.console.print(bytes: Array(key.pem.utf8))
    } else {
      context.console.print("id      \(report.keyId)")
      context.console.print("public  \(report.publicKey.text)")
      context.console.print("file    \(report.file)")
    }
  }

  /// Writes the key to `file` unless it is there already. Another key there is a failure: products may name
  /// it. Blocks.
  private static func importKey(at path: String, as file: PublisherKeyFile) throws -> SigningKey {
    guard let key = try PublisherKeyFile(path: path).read() else {
      throw CommandFailure(.failed, "there is no key at \(path)")
    }
    guard let own = try file.read() else {
      try file.write(key)
      return key
    }
    guard own.verificationKey == key.verificationKey else {
      throw CommandFailure(
        .failed,
        "there is another key at \(file.path), which published content may depend on; keep it elsewhere "
          + "(--export) and remove it first")
    }
    return own
  }

  /// Never replaces a file. Blocks.
  private static func write(_ key: SigningKey, to path: String) throws {
    do {
      try PublisherKeyFile(path: path).write(key)
    } catch let error as SystemError where error.isFileInTheWay {
      throw CommandFailure(.failed, "\(path) is there already, and is not overwritten")
    }
  }
}
