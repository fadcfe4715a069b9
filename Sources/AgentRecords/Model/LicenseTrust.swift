package import CoreTypes
package import Crypto
import PullboxAPI
package import ServiceAPI

/// The keys of one service by which its licenses count. Pure.
///
/// The first keys that the service shows count, unless the configuration names some. From then on another key counts only by the word of
/// one that does, so that a server which stands in the place of the first later can sign nothing. A key that was replaced counts no more once a
/// license has come that a later key signed, ``overlap`` after that one began to sign.
package struct LicenseTrust: Hashable, Sendable {
  /// Keys of one service, at most.
  package static let maximumKeys = 100
  /// The time for which the key before counts beside the one that signs: nodes of a service go on to it one after another, and a service whose
  /// database is taken back to a backup of that time goes on with the one before.
  package static let overlap: Duration = .seconds(86_400)

  /// The keys that count.
  package private(set) var keys: [VerificationKey]
  /// The keys that counted and were replaced: none of them counts again.
  package private(set) var retired: [VerificationKey]

  /// The keys that were kept. `configured` count in their place, where there are any, and none of them was kept: neither as one that counts nor as
  /// one that was replaced.
  package init(
    kept: [VerificationKey], retired: [VerificationKey] = [], configured: [VerificationKey] = []
  ) {
    let isConfiguredAnew = !configured.isEmpty && !(kept + retired).contains(where: configured.contains)
    keys = kept.isEmpty || isConfiguredAnew ? configured : kept
    self.retired = isConfiguredAnew ? [] : retired
  }

  /// Takes the keys that the service shows. Those that count and are shown no more are dropped, where others are left.
  package mutating func take(_ published: [LicenseKey]) {
    let shown = published.prefix(Self.maximumKeys).filter { !retired.contains($0.key) }
      .sorted { $0.number < $1.number }
    guard !keys.isEmpty else {
      keys = shown.map(\.key)
      return
    }
    var trusted = keys
    for key in shown where !trusted.contains(key.key) && key.isEndorsed(by: trusted) {
      trusted.append(key.key)
    }
    let left = trusted.filter { key in shown.contains { $0.key == key } }
    keys = left.isEmpty ? keys : left
  }

  /// A license of that date counts here by `signer`. The keys that lead to it by their word count no more, where it signs for long enough.
  package mutating func note(
    licenseSignedBy signer: VerificationKey, at issued: Timestamp, among published: [LicenseKey]
  ) {
    guard var key = published.first(where: { $0.key == signer }), issued - key.seals >= Self.overlap else {
      return
    }
    while let former = keys.first(where: { $0 != key.key && key.isEndorsed(by: [$0]) }) {
      keys.removeAll { $0 == former }
      retired = (retired + [former]).suffix(Self.maximumKeys)
      guard let next = published.first(where: { $0.key == former }) else { return }
      key = next
    }
  }
}
