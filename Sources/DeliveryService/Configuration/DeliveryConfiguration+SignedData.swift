import Commerce
import CoreTypes
import Files
import PaymentStores
import Receipts
import ServiceRuntime
import SystemCalls

extension DeliveryConfiguration.PaymentStore {
  /// Apple's addresses of the App Store Server API.
  private static let applesInterface = Addresses.Interface(
    production: "https://api.storekit.apple.com", sandbox: "https://api.storekit-sandbox.apple.com")
  /// Bytes of one file of root certificates.
  private static let maximumRootLength = ByteCount.kibibytes(64)

  /// Nil without roots. Blocks while it reads files. Throws the first fault.
  func signedAccess(
    key: String, environments: Set<StoreEnvironment>
  ) throws(ConfigurationError) -> SignedStoreAccess? {
    func fault(_ member: String, _ message: String) -> ConfigurationError {
      ConfigurationError(subject: "\(key).\(member)", message: message)
    }
    guard let roots, !roots.isEmpty else {
      for (member, isGiven) in [
        ("onlineChecks", onlineChecks != nil), ("appAppleId", appAppleId != nil), ("issuer", issuer != nil),
        ("keyId", keyId != nil), ("keyFile", keyFile != nil), ("addresses.api", addresses?.api != nil),
      ] where isGiven {
        throw fault(member, "it needs roots, or nothing that the store signs counts")
      }
      return nil
    }
    return SignedStoreAccess(
      gate: SignedDataGate.Access(
        roots: try certificates(in: roots, member: "roots", key: key, environments: environments),
        checksOnline: onlineChecks ?? true, bundles: Set(bundles),
        applicationNumber: appAppleId, environments: environments),
      interface: try interface(key: key, environments: environments))
  }

  /// Returns the rules that app receipts must meet before the store is asked about them. Throws the first fault.
  func receiptRules(
    key: String, environments: Set<StoreEnvironment>
  ) throws(ConfigurationError) -> ReceiptRules {
    var rules = ReceiptRules()
    if let receiptRoots, !receiptRoots.isEmpty {
      rules.roots = try certificates(
        in: receiptRoots, member: "receiptRoots", key: key, environments: environments)
      rules.policy.acceptsSHA1 = acceptSHA1 ?? false
    } else if acceptSHA1 != nil {
      throw ConfigurationError(
        subject: "\(key).acceptSHA1", message: "it needs receiptRoots, or no signature is looked at here")
    }
    if let minimumVersion {
      guard let version = ApplicationVersion(minimumVersion) else {
        throw ConfigurationError(
          subject: "\(key).minimumVersion", message: "it is numbers with dots, not \(minimumVersion)")
      }
      rules.minimumVersion = version
    }
    return rules
  }

  /// The root certificates in `files`, which the configuration calls `member`. Throws the first fault.
  private func certificates(
    in files: [String], member: String, key: String, environments: Set<StoreEnvironment>
  ) throws(ConfigurationError) -> [Certificate] {
    var certificates: [Certificate] = []
    for (index, path) in files.enumerated() {
      func fault(_ message: String) -> ConfigurationError {
        ConfigurationError(subject: "\(key).\(member).\(index)", message: message)
      }
      let found: [Certificate]
      do {
        found = try Self.certificates(in: path)
      } catch {
        throw fault("\(path): \(error)")
      }
      guard !found.isEmpty else { throw fault("there is no certificate in \(path)") }
      if kind == .apple, environments.contains(.production), found.contains(where: \.isOfSandboxStore) {
        throw fault("purchases that cost money are not proved by the root of a sandbox store: \(path)")
      }
      certificates += found
    }
    return certificates
  }

  /// Reads the certificates of one file: PEM where it has such a line, else one certificate in DER. Blocks.
  private static func certificates(in path: String) throws -> [Certificate] {
    let bytes = try FileSystem.read(path, upTo: maximumRootLength)
    let text = String(decoding: bytes, as: UTF8.self)
    return text.contains("-----BEGIN")
      ? try Certificate.certificates(inPEM: text) : [try Certificate(der: bytes)]
  }

  /// Returns the access to the programming interface; nil where no key is given. Throws the first fault. Blocks
  /// while it reads the key.
  private func interface(
    key: String, environments: Set<StoreEnvironment>
  ) throws(ConfigurationError) -> SignedStoreAccess.Interface? {
    func fault(_ member: String, _ message: String) -> ConfigurationError {
      ConfigurationError(subject: "\(key).\(member)", message: message)
    }
    let given = [("issuer", issuer), ("keyId", keyId), ("keyFile", keyFile)]
    guard given.contains(where: { $0.1 != nil }) else {
      guard addresses?.api == nil else { throw fault("keyFile", "the programming interface needs a key") }
      return nil
    }
    for (member, value) in given where value?.isEmpty ?? true {
      throw fault(member, "issuer, keyId and keyFile come together")
    }
    guard let issuer, let keyId, let keyFile, let bundle = bundles.first else { return nil }
    let addresses = addresses?.api ?? (kind == .apple ? Self.applesInterface : .init())
    var urls: [StoreEnvironment: String] = [:]
    for (environment, member, url) in [
      (StoreEnvironment.production, "production", addresses.production),
      (.sandbox, "sandbox", addresses.sandbox),
    ] {
      guard environments.contains(environment), let url else { continue }
      try ConfigurationURL.check(url, key: "\(key).addresses.api.\(member)")
      urls[environment] = url
    }
    guard !urls.isEmpty else { throw fault("addresses.api", "production, sandbox or both are needed") }
    let secret: Redacted<[UInt8]>?
    do {
      secret = try SecretFile.read(keyFile)
    } catch {
      throw fault("keyFile", "\(error)")
    }
    guard let secret else { throw fault("keyFile", "there is no such file: \(keyFile)") }
    do {
      let apiKey = try StoreAPIKey(
        pem: String(decoding: secret.revealed, as: UTF8.self), issuer: issuer, keyIdentifier: keyId,
        bundle: bundle)
      return SignedStoreAccess.Interface(key: apiKey, addresses: urls)
    } catch {
      throw fault("keyFile", "\(error)")
    }
  }
}

extension Certificate {
  /// Whether a sandbox store of this project made the root.
  fileprivate var isOfSandboxStore: Bool {
    // A certificate that was read once is read again.
    (try? subjectUnits().contains(SignedDataAuthority.sandboxUnit)) ?? true
  }
}
