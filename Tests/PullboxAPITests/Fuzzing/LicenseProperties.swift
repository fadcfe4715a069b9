import CoreTypes
import Crypto
import PullboxAPI
import Receipts
import ServiceAPI

/// Licenses of devices: what no key of the service has signed is refused whatever it says, what it has signed is read as it was written, and
/// with any change of its text it says nothing.
///
/// An input is a text as a device gets it, and a payload that the service's key signs; its first bytes are the place and the kind of a change.
enum LicenseProperties {
  private static let key = SigningKey(seed: [UInt8](repeating: 5, count: 32))
  private static let other = SigningKey(seed: [UInt8](repeating: 6, count: 32))

  static func check(_ bytes: [UInt8]) -> String? {
    guard let key, let other else { return "there are no keys" }
    let keys = [key.verificationKey]
    if (try? License(String(decoding: bytes, as: UTF8.self), verifiedWith: keys)) != nil {
      return "a license counts that no key has signed"
    }
    let change = Array(bytes.prefix(3))
    let payload = Array(bytes.dropFirst(3))
    guard change.count == 3,
      let text = try? JSONWebSignature(
        signing: payload, with: key, keyIdentifier: key.verificationKey.text,
        maximumLength: License.maximumLength
      ).text
    else { return nil }
    guard let license = try? License(text, verifiedWith: keys) else { return nil }
    if (try? License(text, verifiedWith: [other.verificationKey])) != nil {
      return "a license counts by a key that has not signed it"
    }
    if let broken = check(license) { return broken }
    guard let written = try? license.signed(with: key),
      (try? License(written, verifiedWith: keys)) == license
    else { return "\(license) is read otherwise than it was written" }
    var changed = Array(text.utf8)
    let place = (Int(change[0]) << 8 | Int(change[1])) % changed.count
    if changed[place] == change[2] { changed.remove(at: place) } else { changed[place] = change[2] }
    let spelled = String(decoding: changed, as: UTF8.self)
    return (try? License(spelled, verifiedWith: keys)) == nil ? nil : "a license that was changed counts"
  }

  private static func check(_ license: License) -> String? {
    let names = license.owned.map(\.product) + license.ended.map(\.product)
    guard Set(names).count == names.count, names.count <= License.maximumProducts else {
      return "\(names.count) products, or one twice"
    }
    guard license.kind == License.kind, license.issued < license.expires,
      license.expires - license.issued <= License.longestLife
    else { return "a \(license.kind) from \(license.issued) to \(license.expires)" }
    return nil
  }
}
