import Commerce
import HTTPServer
import PaymentStores
import Receipts
import ServiceRuntime

extension DeliveryConfiguration.PaymentStore {
  /// Base URL of the Android Publisher API.
  private static let googlesInterface = "https://androidpublisher.googleapis.com"
  /// The address of the keys that sign the identity tokens of those who post notifications.
  private static let googlesKeys = "https://www.googleapis.com/oauth2/v3/certs"

  /// Returns the access to the store of an entry of the kind google. Blocks while it reads the key file. Throws the first
  /// fault.
  func googleAccess(
    key: String, name: StoreIdentifier
  ) throws(ConfigurationError) -> DeliveryConfiguration.StoreAccess {
    func fault(_ member: String, _ message: String) -> ConfigurationError {
      ConfigurationError(subject: "\(key).\(member)", message: message)
    }
    for (member, isGiven) in [
      ("credential", credential != nil), ("sharedSecret", sharedSecret != nil),
      ("sharedSecretFile", sharedSecretFile != nil), ("roots", roots != nil),
      ("receiptRoots", receiptRoots != nil), ("acceptSHA1", acceptSHA1 != nil),
      ("minimumVersion", minimumVersion != nil),
      ("onlineChecks", onlineChecks != nil), ("appAppleId", appAppleId != nil), ("issuer", issuer != nil),
      ("keyId", keyId != nil), ("addresses.production", addresses?.production != nil),
      ("addresses.sandbox", addresses?.sandbox != nil), ("addresses.api", addresses?.api != nil),
    ] where isGiven {
      throw fault(member, "a store of the kind google has none")
    }
    guard let package = bundles.first, bundles.count == 1, ProductIdentifier(package) != nil else {
      throw fault("bundles", "a store of the kind google is of one application, named by its package")
    }
    let account = try serviceAccount(key: key)
    let address = addresses?.play ?? Self.googlesInterface
    for (member, url) in [("addresses.play", address), ("keyFile", account.tokenAddress)] {
      try ConfigurationURL.check(url, key: "\(key).\(member)")
      guard !ConfigurationURL.isReadable(url) else {
        throw fault(member, "tokens go over https, or over http to this host alone: \(url)")
      }
    }
    let environments: Set<StoreEnvironment> =
      allowSandbox == true ? [.production, .sandbox] : [.production]
    return DeliveryConfiguration.StoreAccess(
      name: name, kind: kind, access: VerifyReceiptStoreClient.Access(addresses: [:]),
      policy: VerifyReceiptPolicy(
        bundleIdentifiers: Set(bundles), environments: environments, addresses: []),
      rules: try rules(key: key),
      google: GoogleStoreAccess(
        name: name, account: account, package: package, address: address, environments: environments,
        notifications: try googleNotifications(key: key)))
  }

  /// Reads the key file of the service account, which only its owner may read. Throws ``ConfigurationError``.
  private func serviceAccount(key: String) throws(ConfigurationError) -> GoogleServiceAccount {
    let subject = "\(key).keyFile"
    guard let keyFile else {
      throw ConfigurationError(subject: subject, message: "a store of the kind google needs it")
    }
    let secret: Redacted<[UInt8]>?
    do {
      secret = try SecretFile.read(keyFile)
    } catch {
      throw ConfigurationError(subject: subject, message: "\(error)")
    }
    guard let secret else {
      throw ConfigurationError(subject: subject, message: "there is no such file: \(keyFile)")
    }
    do {
      return try GoogleServiceAccount(keyFile: secret.revealed)
    } catch {
      throw ConfigurationError(subject: subject, message: "\(error)")
    }
  }

  /// Returns the caller that may post notifications; nil where none are taken. Throws ``ConfigurationError``
  /// for an audience without an account.
  private func googleNotifications(
    key: String
  ) throws(ConfigurationError) -> GoogleStoreAccess.Notifications? {
    guard let notificationAudience else {
      for (member, isGiven) in [
        ("notificationAccount", notificationAccount != nil), ("addresses.keys", addresses?.keys != nil),
      ] where isGiven {
        throw ConfigurationError(
          subject: "\(key).\(member)", message: "it needs a notificationAudience, or no notification is taken"
        )
      }
      return nil
    }
    guard !notificationAudience.isEmpty else {
      throw ConfigurationError(subject: "\(key).notificationAudience", message: "it is empty")
    }
    // The store gives a token for any audience to whichever account of whichever project asks.
    guard let notificationAccount, !notificationAccount.isEmpty else {
      throw ConfigurationError(
        subject: "\(key).notificationAccount",
        message: "it is needed: any account can get a token for an audience")
    }
    let keys = addresses?.keys ?? Self.googlesKeys
    try ConfigurationURL.check(keys, key: "\(key).addresses.keys")
    guard !ConfigurationURL.isReadable(keys) else {
      throw ConfigurationError(
        subject: "\(key).addresses.keys",
        message: "keys are fetched over https, or over http from this host alone: \(keys)")
    }
    return GoogleStoreAccess.Notifications(
      expected: IdentityToken.Expectation(audience: notificationAudience, email: notificationAccount),
      keysAddress: keys)
  }

  /// Throws for what a store of another kind has no use for.
  func refuseGoogleMembers(key: String) throws(ConfigurationError) {
    for (member, isGiven) in [
      ("notificationAudience", notificationAudience != nil),
      ("notificationAccount", notificationAccount != nil), ("addresses.play", addresses?.play != nil),
      ("addresses.keys", addresses?.keys != nil),
    ] where isGiven {
      throw ConfigurationError(
        subject: "\(key).\(member)", message: "only a store of the kind google has it")
    }
  }
}
