public import AgentRecords
import CLinux
public import Commerce
import CoreTypes
import Crypto
import Files
import Glibc
import HTTPClient
public import PullboxAPI
public import ServiceRuntime
import SystemCalls

/// The agent's configuration, from its file, its variables and its options. Decoded, and checked when the
/// service is made.
public struct AgentConfiguration: DaemonConfiguration {
  /// The delivery server's base URL, http or https.
  public var server: String
  /// The payment store's base URL, http or https.
  public var store: String
  /// The store's name in the delivery server's configuration. A server that knows more than one store takes no purchase
  /// without it.
  public var storeName: StoreIdentifier?
  /// PEM file of the certificate authorities that count for the delivery server, in place of the system's.
  public var serverCA: String?
  /// Public keys that count for the delivery server, each as `sha256//` and the SHA-256 of its DER in base 64; any key that
  /// an authority vouches for unless given.
  public var serverPin: [String]?
  /// PEM file of the certificate authorities that count for the payment store, in place of the system's.
  public var storeCA: String?
  /// A file of one line, for its owner's eyes only: the bearer token of the store's account. The credential `account-token`
  /// of the service manager unless given.
  public var accountTokenFile: String?
  /// A directory of the agent's own, made when it is missing; one process uses it at a time.
  public var state: String
  /// Where content is placed; `library` in the state directory unless given.
  public var library: String?
  /// The control interface's Unix socket; that of `AgentSocket` unless given.
  public var socket: String?
  /// A group, by name or number, whose members may change what the agent does; none unless given.
  public var controlGroup: String?
  /// Users, by name or number, who may change what the agent does, beside root and the agent's own; none unless given.
  public var controlUsers: [String]?
  /// How often the store's queue is asked; 5 s unless given.
  public var pollInterval: ConfigurationDuration?
  /// Downloads that transfer at the same time, 1 to 8; 3 unless given.
  public var maximumDownloads: Int?
  /// The most connections that one package is fetched over, 1 to 4; 4 unless given.
  public var maximumConnections: Int?
  /// Bytes a second of each download, more than 0; no cap unless given.
  public var maximumSpeed: Int64?
  /// Bytes a second of all downloads together, 1 KiB or more; no bound unless given.
  public var maximumRate: ConfigurationSize?
  /// When downloads may run, in local time, each `[DAYS ]HH:MM-HH:MM`; always unless given.
  public var windows: [String]?
  /// Bytes of content in a month; no bound unless given.
  public var monthlyBudget: ConfigurationSize?
  /// The day of the month on which the budget begins anew, 1 to 31; 1 unless given.
  public var budgetDay: Int?
  /// Whether downloads wait while the way to the network is metered; `wait` unless given.
  public var metered: ConditionRule?
  /// The bytes from which a download waits on a metered way; 10 MiB unless given.
  public var meteredLimit: ConfigurationSize?
  /// Whether downloads wait while the network wants a log-in; `wait` unless given.
  public var portal: ConditionRule?
  /// Whether downloads and requests wait while this machine says that it has no network; `wait` unless given.
  public var offline: ConditionRule?
  /// The percentage below which downloads wait for the battery, 0 to 100, 0 for never; 20 unless given.
  public var batteryLevel: Int?
  /// Whether downloads wait while the machine runs on its battery; `ignore` unless given.
  public var onBattery: ConditionRule?
  /// Whether downloads wait while the machine saves power; `wait` unless given.
  public var powerSaver: ConditionRule?
  /// Whether half of the downloads wait while other work waits for the disk or for memory; `wait` unless given.
  public var busy: ConditionRule?
  /// The sources that are heard about the conditions of this machine; all unless given, and none for `none`.
  public var conditionSources: [String]?
  /// Keys of publishers; content that none of them signed is refused. Every publisher is accepted unless
  /// given.
  public var trustedPublisherKeys: [PublisherKeyIdentifier]?
  /// Public keys by which the server's licenses count, and those that follow from them by the server's word; the first that the server
  /// shows unless given.
  public var trustedLicenseKeys: [String]?
  /// The policy for new issues and corrections, which says what the agent fetches without being asked; `latest` unless
  /// given: the newest issue of each publication, and corrections.
  public var arrivals: ArrivalPolicy?
  /// The same for single publications, each `PUBLICATION=POLICY`.
  public var arrivalsOf: [String]?
  /// The reader's language, by its BCP 47 tag, for titles of what arrives by itself; that of the agent's environment unless given.
  public var locale: String?
  /// The sections of content that are fetched by themselves whatever their policy says, each `TAG`, or left to a person, each `TAG=ask`.
  public var sections: [String]?
  /// Whether the payment store may learn how much of a purchase was delivered, when it decides on a refund: what the device's
  /// customer agreed to, or took back; left as it is unless given.
  public var consumptionConsent: Bool?
  /// How far products are read stays on this device; false unless given.
  public var privateReading: Bool?
  /// Bytes that content may take in the library, staged bytes included; no bound unless given.
  public var quota: ConfigurationSize?
  /// How long a version stays that a later one has replaced; 7 days unless given.
  public var keepPrevious: ConfigurationDuration?
  /// The bytes that stay free on the library's file system; 32 MiB unless given.
  public var spaceReserve: ConfigurationSize?
  /// Where metrics and health are answered beside the socket, in the syntax of `ServerAddress`; nowhere unless given.
  public var metricsListen: String?
  /// An address of this device's own at which programs read the library as a catalog (OPDS), beside the socket; nowhere unless given.
  public var catalogListen: String?
  /// The bus on which the agent has its name; none unless given, and for the program by how it runs: ``standardBus(user:environment:)``.
  public var bus: AgentBusChoice?
  /// At this start the library's records and the queue are made anew from the library and the store.
  public var rebuild: Bool?
  /// At this start the device gets a new identity, and open grants are asked for anew.
  public var newIdentity: Bool?
  /// The least severe lines that are logged: `error`, `warning`, `info` or `debug`.
  public var logLevel: String

  /// Sets the values that a process without a configuration file gives; the other members are nil.
  public init(
    server: String, store: String, accountTokenFile: String? = nil, state: String, library: String? = nil,
    socket: String? = nil, pollInterval: ConfigurationDuration? = nil, maximumDownloads: Int? = nil
  ) {
    self.server = server
    self.store = store
    self.accountTokenFile = accountTokenFile
    self.state = state
    self.library = library
    self.socket = socket
    self.pollInterval = pollInterval
    self.maximumDownloads = maximumDownloads
    logLevel = "info"
  }

  /// Absolute, so that what the agent tells of them means the same to every client.
  var paths: StatePaths {
    get throws {
      let state = try FileSystem.absolutePath(state)
      return StatePaths(state: state, library: try library.map(FileSystem.absolutePath) ?? "\(state)/library")
    }
  }
  /// The certificates and keys that count for the delivery server; ``storeTrust`` has those for the payment store.
  var serverTrust: ServerTrust {
    ServerTrust(certificateAuthorityFile: serverCA, publicKeyPins: serverPin ?? [])
  }
  /// The certificates that count for the payment store. Its keys are not pinned.
  var storeTrust: ServerTrust { ServerTrust(certificateAuthorityFile: storeCA) }
}

/// The bus on which an agent has its name.
public enum AgentBusChoice: String, CaseIterable, Sendable, Codable {
  /// That of the machine, for an agent that serves the whole device.
  case system
  /// That of the user, for the user's agent.
  case session
  /// None.
  case nothing = "none"
}

/// The reading of single members.
extension AgentConfiguration {
  /// The bus of a program whose configuration names none: that of the machine for an agent whose socket is the device's, else the user's.
  static func standardBus(user: UInt32, environment: [String: String]) -> AgentBusChoice {
    AgentSocket.path(user: user, environment: environment) == AgentSocket.systemPath ? .system : .session
  }

  /// The name of the credential that holds the account's token (systemd.exec(5), `LoadCredential=`). The file
  /// of that name lies in `$CREDENTIALS_DIRECTORY`.
  static let credentialName = "account-token"

  /// Thrown, and reported by `--check`, where nothing names a token.
  static let missingToken = ConfigurationError(
    subject: "accountTokenFile",
    message:
      "name the file that holds the token of the store's account, or give the service the credential "
      + credentialName)

  /// Whether there is a place from which the account's token can come. The place need not have one.
  func namesToken(environment: [String: String]) -> Bool {
    accountTokenFile != nil || environment["CREDENTIALS_DIRECTORY"] != nil
  }

  /// The path of the Unix socket on which the control interface listens, and whether it is the one that
  /// nothing named. An agent makes the directory of the default alone.
  func socketPath(environment: [String: String]) -> (path: String, isDefault: Bool) {
    if let socket { return (socket, false) }
    return (AgentSocket.path(user: geteuid(), environment: environment), true)
  }

  /// Returns the arrival policy of each publication. Throws for an entry that is not `PUBLICATION=POLICY`, and for a
  /// publication that is named twice.
  func arrivalPolicies() throws(ConfigurationError) -> ArrivalPolicies {
    var policies = ArrivalPolicies(arrivals ?? .latest)
    for (index, text) in (arrivalsOf ?? []).enumerated() {
      let parts = text.split(separator: "=", omittingEmptySubsequences: false).map(String.init)
      guard parts.count == 2, let publication = ProductIdentifier(parts[0]),
        let policy = ArrivalPolicy(rawValue: parts[1])
      else {
        let words = ArrivalPolicy.allCases.map(\.rawValue).joined(separator: ", ")
        throw ConfigurationError(
          subject: "arrivalsOf.\(index)", message: "'\(text)' is not PUBLICATION=POLICY, of \(words)")
      }
      guard policies.own.updateValue(policy, forKey: publication) == nil else {
        throw ConfigurationError(subject: "arrivalsOf.\(index)", message: "\(publication) is named twice")
      }
    }
    return policies
  }

  /// The configured keys of licenses; none where there are none. Throws ``ConfigurationError`` for a text that is no key.
  func licenseKeys() throws(ConfigurationError) -> [VerificationKey] {
    try (trustedLicenseKeys ?? []).mapConfiguration { index, text throws(ConfigurationError) in
      guard let key = VerificationKey(text: text) else {
        throw ConfigurationError(
          subject: "trustedLicenseKeys.\(index)", message: "not 32 bytes in base64url")
      }
      return key
    }
  }

  /// The limits of downloads. Throws ``ConfigurationError`` for a window that is none, and for numbers out of their bounds.
  func downloadLimits() throws(ConfigurationError) -> DownloadLimits {
    var faults: [ConfigurationFault] = []
    if let maximumRate, maximumRate.bytes < .kibibytes(1) {
      faults.append(
        ConfigurationFault(subject: "maximumRate", message: "1KiB a second or more is expected"))
    }
    var limits = DownloadLimits(rate: maximumRate?.bytes)
    do throws(DownloadWindows.SyntaxError) {
      limits.windows = try windows.map { texts throws(DownloadWindows.SyntaxError) in
        try DownloadWindows(texts)
      }
    } catch {
      let isEmpty = windows?.isEmpty ?? true
      faults.append(
        ConfigurationFault(
          subject: isEmpty ? "windows" : "windows.\(error.index)", message: error.description))
    }
    if let monthlyBudget {
      limits.budget = NetworkBudget.Terms(limit: monthlyBudget.bytes, day: budgetDay ?? 1)
      if monthlyBudget.bytes <= .zero {
        faults.append(ConfigurationFault(subject: "monthlyBudget", message: "more than no byte is expected"))
      }
    }
    if let budgetDay {
      if !(1...31).contains(budgetDay) {
        faults.append(
          ConfigurationFault(subject: "budgetDay", message: "a day of the month is expected, 1 to 31"))
      } else if monthlyBudget == nil {
        faults.append(
          ConfigurationFault(subject: "budgetDay", message: "a monthlyBudget is expected with it"))
      }
    }
    if let error = ConfigurationError(faults) { throw error }
    return limits
  }

  /// Which sections of content are fetched by themselves. Throws for an entry that is neither `TAG` nor `TAG=ask`, and for a tag that is named twice.
  ///
  /// - Parameter locale: the reader's language; nil where it is not known.
  func sectionPreferences(locale: String?) throws(ConfigurationError) -> SectionPreferences {
    var preferences = SectionPreferences(locale: locale)
    for (index, text) in (sections ?? []).enumerated() {
      let parts = text.split(separator: "=", omittingEmptySubsequences: false).map(String.init)
      guard let tag = parts.first.flatMap({ SectionTag($0) }),
        parts.count == 1 || parts.dropFirst() == ["ask"]
      else {
        throw ConfigurationError(
          subject: "sections.\(index)", message: "'\(text)' is neither TAG nor TAG=ask")
      }
      guard preferences.rules.updateValue(parts.count == 1 ? .fetch : .ask, forKey: tag) == nil else {
        throw ConfigurationError(subject: "sections.\(index)", message: "\(tag) is named twice")
      }
    }
    return preferences
  }

  /// The account's token: never an argument or a variable, which other processes can read. Blocks. Throws
  /// ``ConfigurationError`` where there is none, or others may read it. The token has visible ASCII
  /// characters; one line feed at the end is left out.
  func accountToken(environment: [String: String]) throws(ConfigurationError) -> Redacted<String> {
    let bytes: [UInt8]
    if let accountTokenFile {
      do {
        guard let secret = try SecretFile.read(accountTokenFile) else {
          throw ConfigurationError(subject: "accountTokenFile", message: "there is no \(accountTokenFile)")
        }
        bytes = secret.revealed
      } catch let error as ConfigurationError {
        throw error
      } catch {
        throw ConfigurationError(subject: "accountTokenFile", message: "\(error)")
      }
    } else if let directory = environment["CREDENTIALS_DIRECTORY"] {
      // The service manager keeps others out of the directory; the files' own bits are its business.
      let path = "\(directory)/\(Self.credentialName)"
      do {
        bytes = try FileSystem.read(path, upTo: SecretFile.maximumLength)
      } catch {
        throw ConfigurationError(
          subject: "accountTokenFile", message: "the credential cannot be read: \(error)")
      }
    } else {
      throw Self.missingToken
    }
    let text = String(decoding: bytes, as: UTF8.self)
    let token = text.hasSuffix("\n") ? String(text.dropLast()) : text
    guard !token.isEmpty, token.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
      throw ConfigurationError(
        subject: "accountTokenFile", message: "one line of visible characters is expected there")
    }
    return Redacted(token)
  }

  /// Returns the users and the group that may change what the agent does. Throws ``ConfigurationError`` for a name that
  /// this device does not know. To be called before there is a second thread.
  func controlAccess() throws(ConfigurationError) -> ControlAccess {
    var access = ControlAccess(agentUser: geteuid())
    let users = try (controlUsers ?? []).mapConfiguration { index, name throws(ConfigurationError) in
      guard let user = UInt32(name) ?? Self.user(named: name) else {
        throw ConfigurationError(subject: "controlUsers.\(index)", message: "there is no user '\(name)'")
      }
      return user
    }
    access.users.formUnion(users)
    if let controlGroup {
      guard let group = UInt32(controlGroup) ?? Self.group(named: controlGroup) else {
        throw ConfigurationError(subject: "controlGroup", message: "there is no group '\(controlGroup)'")
      }
      access.group = group
    }
    return access
  }

  // Only at the start, before there is a second thread that could look one up.
  /// The number of that user (getpwnam(3)); nil where this device knows no such name.
  private static func user(named name: String) -> UInt32? { unsafe getpwnam(name)?.pointee.pw_uid }
  /// The number of that group (getgrnam(3)); nil where this device knows no such name.
  private static func group(named name: String) -> UInt32? { unsafe getgrnam(name)?.pointee.gr_gid }
}
