import Commerce
import HTTPServer
import ServiceRuntime

/// The configuration of `pullbox-sandbox`, from its options, `PULLBOX_*` variables and the file of
/// `--config`.
struct SandboxConfiguration: DaemonConfiguration {
  /// Addresses in the syntax of `ServerAddress`.
  var listen: [String]
  /// Directory of everything the store keeps.
  var state: String
  /// Base URL of the delivery server, whose public catalog says what is for sale.
  var catalog: String
  /// The credential with which the delivery server finishes transactions. When none is given, the store makes
  /// one and keeps it in the state directory.
  var serverCredential: Redacted<String>?
  /// The key that requests under `/sandbox/v1` must bear; nil where they need none.
  var controlKey: Redacted<String>?
  /// The password that `/verifyReceipt` asks for; nil where it asks for none.
  var sharedSecret: Redacted<String>?
  /// `sandbox` or `production`.
  var environment: String
  /// Bundle identifier of the application whose purchases are sold here.
  var bundle: String
  /// The application's number in signed data; nil where it has none.
  var appAppleID: Int64? = nil
  /// The issuer of tokens for the App Store Server API.
  var apiIssuer = "6f1d1c8e-7a0b-4c53-9d55-0f4f3f3a2b10"
  /// Where notifications are posted; nil where they are not.
  var notificationURL: String? = nil
  /// Where signed data says that its certificates can be asked about; nil for the store's own address.
  var ocspURL: String? = nil
  /// Where notifications are posted as Google's are; nil where they are not.
  var googleNotificationURL: String? = nil
  /// Where the key file says that access tokens are given; nil for the store's own address.
  var googleTokenURL: String? = nil
  var logLevel: String

  /// The addresses to listen on, at least one. Throws for an empty list, and for the first text that is no
  /// address, with its place (`listen.1`) as the subject.
  func addresses() throws(ConfigurationError) -> [ServerAddress] {
    let addresses = try listen.mapConfiguration { index, text throws(ConfigurationError) in
      guard let address = ServerAddress(text) else {
        throw ConfigurationError(
          subject: "listen.\(index)",
          message: "'\(text)' is no address to listen on, such as 127.0.0.1:8090 or unix:PATH")
      }
      return address
    }
    guard !addresses.isEmpty else {
      throw ConfigurationError(subject: "listen", message: "there is no address to listen on")
    }
    return addresses
  }

  /// Returns the environment that receipts and transactions name. Throws for any other word.
  func storeEnvironment() throws(ConfigurationError) -> StoreEnvironment {
    switch environment {
    case "sandbox": return .sandbox
    case "production": return .production
    default:
      throw ConfigurationError(
        subject: "environment", message: "'\(environment)' is neither sandbox nor production")
    }
  }

  /// Where the OCSP responder is, if the store listens at `bound`. Unless it is configured, it is on the
  /// first TCP address, and on `localhost` for a store that listens on sockets of files alone.
  func responder(at bound: [ServerAddress]) -> String {
    if let ocspURL { return ocspURL }
    let first = bound.lazy.compactMap { address -> String? in
      guard case .tcp = address else { return nil }
      return "http://\(address)/ocsp"
    }.first
    return first ?? "http://localhost/ocsp"
  }

  /// Where access tokens are given, if the store listens at `bound`. Unless it is configured, it is on the
  /// first TCP address, as ``responder(at:)``.
  func tokenAddress(at bound: [ServerAddress]) -> String {
    if let googleTokenURL { return googleTokenURL }
    let first = bound.lazy.compactMap { address -> String? in
      guard case .tcp = address else { return nil }
      return "http://\(address)/token"
    }.first
    return first ?? "http://localhost/token"
  }

  /// Finds values that are of the right type and cannot be: addresses, URLs, the environment. Warns of a
  /// credential that could be guessed.
  func inspect(_ findings: inout ConfigurationFindings) {
    var all: [(key: String, address: String)] = []
    findings.check("listen") {
      all = try addresses().enumerated().map { ("listen.\($0.offset)", $0.element.description) }
    }
    findings.refuseRepetition(of: all)
    findings.check("environment") { _ = try storeEnvironment() }
    findings.check("catalog") { try ConfigurationURL.check(catalog, key: "catalog") }
    if let notificationURL {
      findings.check("notificationURL") {
        try ConfigurationURL.check(notificationURL, key: "notificationURL")
      }
    }
    if let googleNotificationURL {
      findings.check("googleNotificationURL") {
        try ConfigurationURL.check(googleNotificationURL, key: "googleNotificationURL")
      }
    }
    if let googleTokenURL {
      findings.check("googleTokenURL") { try ConfigurationURL.check(googleTokenURL, key: "googleTokenURL") }
    }
    if let ocspURL { findings.check("ocspURL") { try ConfigurationURL.check(ocspURL, key: "ocspURL") } }
    if let bits = (serverCredential?.revealed).map(SecretStrength.bits), bits < SecretStrength.minimum {
      findings.warn("serverCredential", "could be guessed: it has at most \(bits) bits")
    }
  }
}
