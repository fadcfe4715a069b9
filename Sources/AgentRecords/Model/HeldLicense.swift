package import Commerce
package import CoreTypes
package import Crypto
import Entitlements
package import PullboxAPI
package import ServiceAPI

/// The license that this device holds: what it says at a time, and when another is wanted. Pure.
package struct HeldLicense: Hashable, Sendable {
  /// The license as it was signed.
  package let text: String
  package let license: License
  /// The key that has signed it.
  package let signer: VerificationKey
  /// The products that it lists.
  fileprivate let owned: Set<ProductIdentifier>
  fileprivate let ended: Set<ProductIdentifier>

  /// Clocks of a service's nodes differ by no more.
  package static let nodeDifference: Duration = .seconds(600)

  /// Reads a license for this device. Throws ``LicenseError``: also where it is for another device, or was issued before `former`, which
  /// this device has. A little before is another node's; more than ``HighestTime/correctedDifference`` before corrects a date that was wrong.
  package init(
    _ text: String, trusting trust: LicenseTrust, device: DeviceIdentifier, key: VerificationKey,
    after former: HeldLicense? = nil
  ) throws(LicenseError) {
    let (license, signer) = try License.read(text, verifiedWith: trust.keys)
    guard license.device == device, license.deviceKey == key else {
      throw LicenseError(.untrusted, "it is for another device")
    }
    let lead = former.map { $0.license.issued - license.issued } ?? .zero
    if lead > Self.nodeDifference, lead <= HighestTime.correctedDifference {
      throw LicenseError(.untrusted, "it is older than the one that is here")
    }
    self.text = text
    self.license = license
    self.signer = signer
    owned = Set(license.owned.map(\.product))
    ended = Set(license.ended.map(\.product))
  }

  /// Whether the server has told otherwise of a product since: then another one is wanted.
  package func isOvertaken(by known: [ProductIdentifier: KnownOwnership]) -> Bool {
    known.contains { $0.value.isConsumable != true && $0.value.isOwned != owned.contains($0.key) }
  }

  /// Whether it answers at that time.
  package func isGood(at now: Timestamp) -> Bool { now < license.expires }

  /// When another one is to be asked for: when half of its life is over, and up to a tenth of it earlier, by `jitter`, which is from 0 to 1, so
  /// that not all devices ask at once.
  package func renewal(jitter: Double) -> Timestamp {
    license.issued + (license.expires - license.issued) * (0.5 - 0.1 * min(max(jitter, 0), 1))
  }
}

extension KnownOwnership {
  /// The ownership of each product that a license lists, told at `now` by the device's clock.
  package static func listed(in license: License, at now: Timestamp) -> [ProductIdentifier: KnownOwnership] {
    var all: [ProductIdentifier: KnownOwnership] = [:]
    for owned in license.owned {
      all[owned.product] = KnownOwnership(
        isOwned: true, because: owned.because, until: owned.until, asOf: now, isConsumable: false)
    }
    for ended in license.ended {
      all[ended.product] = KnownOwnership(
        isOwned: false, because: ended.because, until: ended.until, asOf: now, isKept: ended.keep == true,
        isConsumable: false)
    }
    return all
  }
}

extension KnownOwnership {
  /// The ownership that ends by a license that was asked for at `asked` and does not list it: all that was known by then, where the license is
  /// whole, except for consumables, and for what may be one.
  package static func unlisted(
    in license: License, among known: [ProductIdentifier: KnownOwnership], asked: Timestamp, at now: Timestamp
  ) -> [ProductIdentifier: KnownOwnership] {
    guard license.isWhole else { return [:] }
    let listed = Set(license.owned.map(\.product)).union(license.ended.map(\.product))
    return known.filter {
      $0.value.isOwned && $0.value.isConsumable == false && !$0.value.isLater(than: asked, at: now)
        && !listed.contains($0.key)
    }.mapValues { known in
      KnownOwnership(
        isOwned: false, because: EntitlementRule.notBought.rawValue, until: nil, asOf: now,
        isOffered: known.isOffered, isConsumable: false)
    }
  }

  /// Whether it was told behind `asked`. A time to come is of a clock that was ahead, and no later word.
  package func isLater(than asked: Timestamp, at now: Timestamp) -> Bool { asked < asOf && asOf <= now }
}

extension ProductOwnership {
  /// The answer that this device can give about a product without asking a service.
  ///
  /// - Parameters:
  ///   - known: the server's last word on the product; nil where it never told of it.
  ///   - held: the license that is here; nil for none.
  ///   - heard: when the server was last heard, as far as that is not the license's own date.
  ///   - now: the time that counts (``HighestTime``).
  package init(
    of product: ProductIdentifier, known: KnownOwnership?, held: HeldLicense?, heard: Timestamp?,
    at now: Timestamp
  ) {
    let license = held?.license
    let (isListed, isEnded) = (held?.owned.contains(product) ?? false, held?.ended.contains(product) ?? false)
    let isOver = known.map { $0.isOwned && ($0.until.map { $0 <= now } ?? false) } ?? false
    var reason: UnverifiedReason?
    if let held {
      if !held.isGood(at: now) {
        reason = .licenseExpired
      } else if known?.isOwned != true, isListed {
        // The feed has told of its end since; the next license will say it too.
        reason = .newerThanLicense
      } else if known?.isOwned == true, known?.isConsumable == true, !isListed {
        reason = .consumable
      } else if known?.isOwned == true ? !isListed : !isEnded && !held.license.isWhole {
        reason = .notInLicense
      }
    } else {
      reason = .noLicense
    }
    self.init(
      product: product, owned: known?.isOwned == true && !isOver,
      because: known.map { isOver ? $0.ruleOfEnd : $0.because } ?? EntitlementRule.notBought.rawValue,
      until: known?.until, heard: [license?.issued, heard].compactMap { $0 }.max(), asOf: known?.asOf,
      verification: reason == nil ? .verified : .unverified, reason: reason,
      license: license.map { LicenseSummary(of: $0) })
  }
}

extension LicenseSummary {
  /// The same without the lists.
  package init(of license: License) {
    self.init(serial: license.serial, issued: license.issued, expires: license.expires)
  }
}

extension KnownOwnership {
  /// The rule by which it ends when its time is over: an issue goes with the subscription that opened it.
  fileprivate var ruleOfEnd: String {
    let own: Set<String?> = [
      EntitlementRule.purchased.rawValue, EntitlementRule.inGrace.rawValue,
      EntitlementRule.inBillingRetry.rawValue, nil,
    ]
    return (own.contains(because) ? EntitlementRule.periodOver : .closedByLapse).rawValue
  }
}
