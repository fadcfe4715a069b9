import Commerce
import ContentCatalog
import CoreTypes
import Crypto
import Database
import DeliveryModel
import DeliveryRecords
import Entitlements
import PullboxAPI
import ServiceAPI
import Synchronization

extension FeedService {
  /// The findings about a feed for a license.
  private struct LicenseFinding: Sendable {
    var products: LicensedProducts
    var customer: CustomerIdentifier?
    var unlocked: [TransactionKey: [ProductIdentifier: EntitlementRule]]
  }

  /// Signs what the feed's customer owns for the device that has this key, with the public keys. Throws as
  /// ``answer(token:device:after:waiting:)`` does.
  func license(
    token: String?, device: DeviceIdentifier, key: VerificationKey, serial: String
  ) async throws -> LicenseResponse {
    let (feed, _) = try open(token, of: device)
    let now = clock.now()
    let keys = try await licenseKeys.current(at: now)
    guard let found = try await licensed(feed, at: now) else {
      forgetEnrollment(in: feed)
      throw Problem(.unauthorized, "the feed was forgotten; show the proof again")
    }
    if !found.unlocked.isEmpty {
      // What a license tells stays so: what is written first stays.
      try await database.write(locking: []) { connection in
        for (transaction, issues) in found.unlocked {
          try EntitlementRecordTable.noteUnlocked(issues, by: transaction, in: connection)
        }
      }
    }
    let license = License(
      serial: serial, customer: found.customer.map(Self.licenseName),
      device: device, deviceKey: key, issued: now, expires: now + licenseLifetime,
      owned: found.products.owned, ended: found.products.ended, isWhole: found.products.isWhole)
    return LicenseResponse(license: try license.signed(with: keys.signing), keys: keys.published)
  }

  /// The public keys, newest first.
  func publishedLicenseKeys() async throws -> LicenseKeysResponse {
    LicenseKeysResponse(keys: try await licenseKeys.current(at: clock.now()).published)
  }

  /// Tells licenses of one customer from those of another, and says nothing to others: it is no name that the server uses elsewhere.
  private static func licenseName(of customer: CustomerIdentifier) -> String {
    Hexadecimal.encode(
      Array(SHA256Digest.of(Array("license customer ".utf8) + customer.bytes).array.prefix(16)))
  }

  /// Nil where there is no such feed any more.
  private func licensed(_ feed: Name, at now: Timestamp) async throws -> LicenseFinding? {
    let found = try await catalog.current { catalog -> [LicenseFinding]? in
      let questions = [Question(feed: feed, cursor: nil)]
      let read = try await database.read { connection -> [FeedFacts?]? in
        guard try catalog.isCurrent(in: connection) else { return nil }
        return try FeedFacts.all(of: questions, catalog: catalog, in: connection) {}
      }
      guard let read else { return nil }
      return read.compactMap { facts in
        guard let facts else { return nil }
        var products = RelatedProducts(catalog, arranged: arranged.locked(\.self))
        let report = FeedStandings.report(
          of: facts.transactions, record: facts.record, among: &products, rules: rules, now: now
        ).report
        return LicenseFinding(
          products: LicensedProducts(report, in: catalog), customer: facts.feed.customer,
          unlocked: report.issuesUnlocked(beyond: facts.record).named(by: facts.transactions))
      }
    }
    return found.first
  }
}
