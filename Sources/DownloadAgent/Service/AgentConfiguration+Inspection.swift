import ContentLibrary
import HTTPClient
import LibraryCatalog
public import ServiceRuntime
import SystemCalls

extension AgentConfiguration {
  /// Adds every error of the configuration for which a start would refuse it, except for errors that only the state
  /// directory shows.
  public func inspect(_ findings: inout ConfigurationFindings) {
    findings.check("server") { try check() }
    findings.check("windows") { _ = try downloadLimits() }
    findings.check("metered") { _ = try machinePolicy(environment: [:], names: OwnNames()) }
    findings.check("conditionSources") { _ = try heardSources() }
    findings.check("controlUsers") { _ = try controlAccess() }
    findings.check("arrivalsOf") { _ = try arrivalPolicies() }
    findings.check("trustedLicenseKeys") { _ = try licenseKeys() }
    findings.check("sections") { _ = try sectionPreferences(locale: nil) }
    let environment = findings.environment
    if namesToken(environment: environment) {
      findings.check("accountTokenFile") { _ = try accountToken(environment: environment) }
    } else {
      findings.miss(Self.missingToken.subject, Self.missingToken.message)
    }
    for (key, path) in [("serverCA", serverCA), ("storeCA", storeCA)] {
      guard let path else { continue }
      findings.check(key) {
        do {
          _ = try FileDescriptor.open(path, .readOnly)
        } catch {
          throw ConfigurationError(subject: key, message: "\(error)")
        }
      }
    }
  }

  /// Throws ``ConfigurationError``, with all faults, for values that cannot work.
  func check() throws(ConfigurationError) {
    var faults: [ConfigurationFault] = []
    func refuse(_ key: String, _ message: String, if isWrong: Bool) {
      if isWrong { faults.append(ConfigurationFault(subject: key, message: message)) }
    }
    for (key, address) in [("server", server), ("store", store)] {
      do throws(ConfigurationError) {
        try ConfigurationURL.check(address, key: key)
      } catch {
        faults += error.faults
      }
    }
    for (index, pin) in (serverPin ?? []).enumerated() {
      refuse(
        "serverPin.\(index)", "sha256// and the digest of a public key in base 64 are expected",
        if: !ServerTrust.isPin(pin))
    }
    refuse(
      "serverPin", "an https server is expected with a pin",
      if: serverPin?.isEmpty == false && !server.lowercased().hasPrefix("https://"))
    if let catalogListen {
      do throws(ConfigurationError) {
        _ = try CatalogAddress.parse(catalogListen)
      } catch {
        faults += error.faults
      }
    }
    refuse(
      "maximumDownloads", "a number from 1 to 8 is expected",
      if: !(1...8).contains(maximumDownloads ?? 1))
    refuse(
      "maximumConnections", "a number from 1 to 4 is expected",
      if: !(1...ConnectionPlan.limit).contains(maximumConnections ?? 1))
    refuse(
      "maximumSpeed", "more than no byte a second is expected", if: maximumSpeed.map { $0 <= 0 } ?? false)
    refuse(
      "pollInterval", "more than no time is expected", if: pollInterval.map { $0.duration <= .zero } ?? false)
    refuse(
      "locale", "a language tag such as fr-FR is expected",
      if: locale.map { !ReaderLocale.isTag($0) } ?? false)
    if let error = ConfigurationError(faults) { throw error }
  }
}
