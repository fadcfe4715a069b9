import Commerce
import DeliveryModel
import DeliveryRecords
import PaymentStores
import Receipts
public import ServiceRuntime

extension DeliveryConfiguration {
  /// A payment store whose purchases count: an entry of `stores`, or what `--store-…` say of one.
  public struct PaymentStore: Decodable, Hashable, Sendable {
    /// How a store is spoken to.
    public enum Kind: String, Decodable, Sendable {
      /// The sandbox store of this project: one address, and a credential for the call that ends a transaction.
      case pullbox
      /// Apple's `verifyReceipt`: an address for each environment, and a shared secret for subscriptions.
      case apple
      /// Google Play: purchase tokens, and a service account by which the store is asked about them.
      case google

      /// Throws `DecodingError`, which does not repeat the value: entries of stores hold secrets.
      public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let kind = Kind(rawValue: try container.decode(String.self)) else {
          throw DecodingError.dataCorruptedError(
            in: container, debugDescription: "it is pullbox, apple or google")
        }
        self = kind
      }
    }

    /// Base URLs by environment.
    public struct Addresses: Decodable, Hashable, Sendable {
      /// Where purchases that cost money are verified.
      public var production: String?
      /// Where purchases for tests are verified.
      public var sandbox: String?
      /// Where the store's programming interface is; Apple's own addresses unless given.
      public var api: Interface?
      /// Base URL of the Android Publisher API; Google's own unless given. Of the kind `google` alone, as ``keys``.
      public var play: String?
      /// The keys by which those are known who post notifications; Google's own unless given.
      public var keys: String?

      /// Base URLs by environment.
      public struct Interface: Decodable, Hashable, Sendable {
        /// The interface for purchases that cost money.
        public var production: String?
        /// The interface for purchases for tests.
        public var sandbox: String?
      }
    }

    /// The name of the store in proofs; no two stores share one.
    public var name: String
    /// How it is spoken to.
    public var kind: Kind
    /// Kind `pullbox` has one of the two. For kind `apple` they are Apple's own unless given.
    public var addresses: Addresses?
    /// The credential by which the store knows this server; the kind `pullbox` needs it.
    public var credential: Redacted<String>?
    /// The application's secret at the store, sent with each question.
    public var sharedSecret: Redacted<String>?
    /// A file that holds it, readable by its owner alone; in place of ``sharedSecret``.
    public var sharedSecretFile: String?
    /// Applications whose receipts count.
    public var bundles: [String]
    /// Whether purchases in the sandbox open content, which anyone can make for nothing. Without it they do where the
    /// sandbox is all that there is.
    public var allowSandbox: Bool?
    /// Files of root certificates, in PEM or DER: what is signed under one of them is a proof, and a notification.
    public var roots: [String]?
    /// Files of root certificates, in PEM or DER: an app receipt that is not signed under one of them is refused before the store
    /// is asked. Without any the store alone judges signatures.
    public var receiptRoots: [String]?
    /// Whether app receipts signed with SHA-1 count, as those of before 2025 are; false unless given.
    public var acceptSHA1: Bool?
    /// Version of the application whose app receipts count, with those of later ones.
    public var minimumVersion: String?
    /// Whether the issuers of signing certificates are asked about them, each once in a quarter of an hour; true unless
    /// given.
    public var onlineChecks: Bool?
    /// The application's number in the store: what comes from production must name it.
    public var appAppleId: Int64?
    /// The account of the key to the store's programming interface.
    public var issuer: String?
    /// The key's name.
    public var keyId: String?
    /// The key, a `.p8` file, readable by its owner alone; for the kind `google`, the key file of a service account.
    public var keyFile: String?
    /// Whom tokens of those are made for who post notifications: as the subscription of Pub/Sub has it. Without it no
    /// notification of Google's is taken.
    public var notificationAudience: String?
    /// The service account that posts them; needed with ``notificationAudience``, since any account can get a token for an audience.
    public var notificationAccount: String?
    /// The rule for a purchase that belongs to one application account and is claimed by another; it stays with the first
    /// unless given.
    public var claims: Claims?
    /// Devices of one customer that are granted something, 10 unless given. One that is silent for 90 days makes room.
    public var deviceLimit: Int?
    /// Whether a grant is refused for what `pullbox irregularities` lists, and not only listed.
    public var refuseIrregular: Bool?

    /// `"reject"`, `"transfer"`, or `{share: N}`.
    public enum Claims: Decodable, Hashable, Sendable {
      /// It stays where it is.
      case reject
      /// It goes to the one who claimed it last.
      case transfer
      /// So many accounts have it together.
      case share(Int)

      private enum CodingKeys: CodingKey {
        case share
      }

      /// Throws `DecodingError`.
      public init(from decoder: any Decoder) throws {
        if let container = try? decoder.container(keyedBy: CodingKeys.self) {
          self = .share(try container.decode(Int.self, forKey: .share))
          return
        }
        let container = try decoder.singleValueContainer()
        switch try container.decode(String.self) {
        case "reject": self = .reject
        case "transfer": self = .transfer
        default:
          throw DecodingError.dataCorruptedError(
            in: container, debugDescription: "it is reject, transfer or {share: N}")
        }
      }
    }
  }

  /// The access to a store, from an entry of `stores` or from the options.
  struct StoreAccess: Sendable {
    /// The name in proofs, which no other store has.
    var name: StoreIdentifier
    var kind: PaymentStore.Kind
    /// The addresses and secrets of `verifyReceipt`; none for the kind google.
    var access: VerifyReceiptStoreClient.Access
    /// The applications and environments that count.
    var policy: VerifyReceiptPolicy
    /// The rules that an app receipt must meet before the store is asked.
    var receipts = ReceiptRules()
    /// The rules about accounts and devices.
    var rules = StoreRules()
    /// Nil for a store without roots: nothing that it signs is taken.
    var signed: SignedStoreAccess?
    /// The access to a store of the kind google, which uses none of the members of other kinds; nil for other kinds.
    var google: GoogleStoreAccess?
  }

  /// Every store, that of the options last; at least one. Blocks while it reads files of secrets. Throws
  /// ``ConfigurationError`` with all faults: names that are none or the same, addresses and secrets that are missing or do not
  /// fit the kind.
  func paymentStores() throws(ConfigurationError) -> [StoreAccess] {
    var names: Set<StoreIdentifier> = []
    func add(_ entry: PaymentStore, _ key: String) throws(ConfigurationError) -> StoreAccess {
      let store = try entry.resolved(key: key)
      guard names.insert(store.name).inserted else {
        throw ConfigurationError(subject: "\(key).name", message: "two stores are named \(store.name)")
      }
      return store
    }
    var resolved = try (stores ?? []).mapConfiguration { index, entry throws(ConfigurationError) in
      try add(entry, "stores.\(index)")
    }
    if let credential = store.credential {
      let entry = PaymentStore(
        name: store.name, kind: .pullbox, addresses: .init(sandbox: store.url), credential: credential,
        bundles: store.bundles, deviceLimit: store.deviceLimit)
      resolved.append(try add(entry, "store"))
    }
    guard !resolved.isEmpty else {
      throw ConfigurationError(subject: "store.credential", message: "is missing, and there are no stores")
    }
    return resolved
  }
}

extension DeliveryConfiguration.PaymentStore {
  /// Apple's addresses of `verifyReceipt`.
  private static let applesAddresses = Addresses(
    production: "https://buy.itunes.apple.com", sandbox: "https://sandbox.itunes.apple.com")

  /// Throws the first fault. It is not asked: a server starts while its stores are away. Blocks while it reads
  /// files.
  fileprivate func resolved(key: String) throws(ConfigurationError) -> DeliveryConfiguration.StoreAccess {
    func fault(_ member: String, _ message: String) -> ConfigurationError {
      ConfigurationError(subject: "\(key).\(member)", message: message)
    }
    guard let identifier = StoreIdentifier(name) else { throw fault("name", "not a store's name: \(name)") }
    guard !bundles.isEmpty else { throw fault("bundles", "no receipt counts without an application") }
    if kind == .google { return try googleAccess(key: key, name: identifier) }
    try refuseGoogleMembers(key: key)
    let given = addresses ?? (kind == .apple ? Self.applesAddresses : Addresses())
    let hasSecret = credential != nil || sharedSecret != nil || sharedSecretFile != nil
    var urls: [StoreEnvironment: String] = [:]
    for (environment, member, url) in [
      (StoreEnvironment.production, "production", given.production), (.sandbox, "sandbox", given.sandbox),
    ] {
      guard let url else { continue }
      let subject = key == "store" ? "store.url" : "\(key).addresses.\(member)"
      try ConfigurationURL.check(url, key: subject)
      if hasSecret, ConfigurationURL.isReadable(url) {
        throw ConfigurationError(
          subject: subject, message: "a secret goes over https, or over http to this host alone: \(url)")
      }
      urls[environment] = url
    }
    switch kind {
    case .pullbox:
      guard urls.count == 1 else {
        throw fault("addresses", "a store of the kind pullbox is of one environment: production or sandbox")
      }
      guard credential != nil else { throw fault("credential", "a store of the kind pullbox needs it") }
    case .apple:
      guard !urls.isEmpty else { throw fault("addresses", "production, sandbox or both are needed") }
      guard credential == nil else {
        throw fault("credential", "a store of the kind apple takes a sharedSecret")
      }
    case .google: preconditionFailure("it is read by itself")
    }
    let countsSandbox = allowSandbox ?? (urls[.production] == nil)
    guard urls[.production] != nil || countsSandbox else {
      throw fault("allowSandbox", "no purchase would count: the sandbox is all that there is")
    }
    let counting = Set(urls.keys).filter { $0 != .sandbox || countsSandbox }
    return DeliveryConfiguration.StoreAccess(
      name: identifier, kind: kind,
      access: VerifyReceiptStoreClient.Access(
        addresses: urls, credential: credential, sharedSecret: try secret(key: key)),
      policy: VerifyReceiptPolicy(
        bundleIdentifiers: Set(bundles), environments: counting, addresses: Set(urls.keys)),
      receipts: try receiptRules(key: key, environments: counting), rules: try rules(key: key),
      signed: try signedAccess(key: key, environments: counting))
  }

  /// Devices of one customer that a store may be configured to serve.
  private static let deviceLimits = 1...100_000

  /// Returns the rules about accounts and devices. Throws ``ConfigurationError`` for numbers that are out of
  /// their range.
  func rules(key: String) throws(ConfigurationError) -> StoreRules {
    var rules = StoreRules()
    switch claims {
    case .reject, nil: rules.claims = .reject
    case .transfer: rules.claims = .transfer
    case .share(let count):
      guard ClaimRule.shares.contains(count) else {
        throw ConfigurationError(
          subject: "\(key).claims.share",
          message: "2 to 1000 accounts can have a purchase together, not \(count)")
      }
      rules.claims = .share(count)
    }
    if let deviceLimit {
      guard Self.deviceLimits.contains(deviceLimit) else {
        throw ConfigurationError(
          subject: "\(key).deviceLimit", message: "it is 1 to 100000, not \(deviceLimit)")
      }
      rules.deviceLimit = deviceLimit
    }
    rules.refusesIrregular = refuseIrregular ?? false
    return rules
  }

  /// Returns the shared secret, of the entry or of its file, without white space around it; nil for a store
  /// without one.
  private func secret(key: String) throws(ConfigurationError) -> Redacted<String>? {
    guard let sharedSecretFile else { return sharedSecret }
    let subject = "\(key).sharedSecretFile"
    guard sharedSecret == nil else {
      throw ConfigurationError(subject: subject, message: "there is a sharedSecret as well")
    }
    let bytes: Redacted<[UInt8]>?
    do {
      bytes = try SecretFile.read(sharedSecretFile)
    } catch {
      throw ConfigurationError(subject: subject, message: "\(error)")
    }
    guard let bytes else {
      throw ConfigurationError(subject: subject, message: "there is no such file: \(sharedSecretFile)")
    }
    let text = String(decoding: bytes.revealed, as: UTF8.self)
    let secret = text.trimmingPrefix { $0.isWhitespace }.prefix { !$0.isWhitespace }
    guard !secret.isEmpty else {
      throw ConfigurationError(subject: subject, message: "it is empty: \(sharedSecretFile)")
    }
    return Redacted(String(secret))
  }
}
