import Commerce
import ContentPackage
import Crypto
import PullboxKit
import PullboxOperatorKit
import ServiceRuntime
import SystemCalls

/// The keys that a publisher signs with: those that `--signing-key` names, else this user's own, made at first use. A package
/// that was signed when it was packed needs neither.
struct SigningKeys: Sendable {
  /// `--signing-key`, which may be given for each key.
  static let option = CommandOption.list(
    "signing-key", "FILE",
    help: "Sign with this key, Ed25519 in PEM; this user's own key unless given (see 'key'). "
      + "If given twice, both keys sign, as while a new key replaces another")

  /// The keys that sign, in the order of the options.
  let keys: [SigningKey]
  /// Made before, of the manifest that is published.
  let stored: [PublisherSignature]

  /// Blocks. `stored` are taken over as they are.
  init(_ arguments: ParsedArguments, stored: [PublisherSignature] = []) throws {
    self.stored = stored
    let paths = arguments.values("signing-key")
    guard !paths.isEmpty || !stored.isEmpty else {
      keys = [try CommandStateDirectory().signingKey.readOrMake()]
      return
    }
    guard stored.count + paths.count <= PublisherSignature.maximumCount else {
      throw UsageError(
        "a version has at most \(PublisherSignature.maximumCount) signatures, those made when it was packed included"
      )
    }
    keys = try paths.map { path in
      guard let key = try PublisherKeyFile(path: path).read() else {
        throw CommandFailure(.failed, "there is no signing key at \(path)")
      }
      return key
    }
  }

  /// Sorted, each once.
  var identifiers: [PublisherKeyIdentifier] {
    Set(keys.map(\.verificationKey.publisherKeyIdentifier) + stored.map(\.keyId)).sorted()
  }

  /// Throws when the server would refuse these keys' signatures, before anything is packed or sent. The
  /// failure has exit code 6.
  func check(
    against named: [PublisherKeyIdentifier], _ product: ProductIdentifier
  ) throws(CommandFailure) {
    guard let foreign = identifiers.first(where: { !named.contains($0) }) else { return }
    throw CommandFailure(
      .integrity,
      "\(product) names the publisher keys \(named.map(\.description).joined(separator: ", ")), and this key is "
        + "\(foreign); name the right one with --signing-key, or have an operator change the product's publisherKeys"
    )
  }

  /// Signatures over the manifest's canonical bytes, sorted by their keys, one for each key. One that was
  /// made before comes before a new one of the same key.
  func signatures(of manifest: Manifest) -> [PublisherSignature] {
    let bytes = manifest.canonicalBytes()
    let known = Set(stored.map(\.keyId))
    let new = keys.map { PublisherSignature(signing: bytes, with: $0) }.filter { !known.contains($0.keyId) }
    return (stored + new).sorted { $0.keyId < $1.keyId }
  }
}
