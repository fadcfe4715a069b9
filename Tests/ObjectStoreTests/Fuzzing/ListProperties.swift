import CoreTypes
import ServiceRuntime

@testable import ObjectStore

/// A page of a store's list: names come in their order behind what was asked for, and no more of them than were, so that who follows the
/// pages comes to an end. The keys of a store's key file are visible characters.
enum ListProperties {
  static func check(_ bytes: [UInt8]) -> String? { checkPage(bytes) ?? checkKeys(bytes) }

  private static func checkPage(_ bytes: [UInt8]) -> String? {
    let document = ListDocument(maximum: 5, prefix: "p/", position: "p/a")
    guard let page = try? document.page(bytes, below: "p/") else { return nil }
    guard page.objects.count + page.unnamedCount <= 5 else { return "more names than were asked for" }
    var last = "a"
    for object in page.objects {
      let name = object.key.rawValue
      guard last.utf8.lexicographicallyPrecedes(name.utf8) else { return "\(name) comes behind \(last)" }
      guard object.attributes.length.rawValue >= 0 else { return "\(name) has \(object.attributes.length)" }
      last = name
    }
    guard let next = page.next else { return nil }
    return next.name.utf8.lexicographicallyPrecedes(last.utf8) || next.name == "a"
      ? "the list goes on at \(next.name), behind \(last)" : nil
  }

  private static func checkKeys(_ bytes: [UInt8]) -> String? {
    guard let keys = ObjectStoreCredentials.parse(Array(bytes.prefix(4096))) else { return nil }
    let texts = [keys.accessKey, keys.secretKey.revealed, keys.sessionToken?.revealed].compactMap(\.self)
    guard texts.allSatisfy({ !$0.isEmpty && $0.utf8.allSatisfy { (0x21...0x7E).contains($0) } }) else {
      return "a key that no field can hold"
    }
    return "\(keys)" == "access key \(keys.accessKey)" ? nil : "keys show more than their name"
  }
}
