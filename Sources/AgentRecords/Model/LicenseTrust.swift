package import Crypto
package import PullboxAPI

/// The keys of one service by which its licenses count. Pure.
///
/// The first keys that the service shows count, unless the configuration names some. From then on another key counts only by the word of
/// one that does, so that a server which stands in the place of the first later can sign nothing.
package struct LicenseTrust: Hashable, Sendable {
  /// Keys of one service, at most.
  package static let maximumKeys = 100

  /// The keys that count.
  package private(set) var keys: [VerificationKey]

  /// `configured` count in place of those that were kept, where there are any and none of these follows from them.
  package init(kept: [VerificationKey], configured: [VerificationKey] = []) {
    keys = kept.isEmpty ? configured : kept
  }

  /// Takes the keys that the service shows. Those that count and are shown no more are dropped, where others are left.
  package mutating func take(_ published: [LicenseKey]) {
    let shown = published.prefix(Self.maximumKeys).sorted { $0.number < $1.number }
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
}
