import Foundation
import HTTPServer

@testable import PullboxAPIServer

/// The field `Authorization` of a reader's application: what is read is what Foundation's base 64 makes of `Basic` (RFC 7617), and a second
/// reading of the bytes of `Bearer`. A name and a password that are shown either way are the same.
enum CredentialProperties {
  static func check(_ bytes: [UInt8]) -> String? {
    let field = String(decoding: bytes.prefix(1024), as: UTF8.self)
    if let broken = check(field: field) { return broken }
    // The same bytes as what an application has to show.
    guard let shown = split(Array(field.utf8), at: 0x3A) else { return nil }
    let basic = "Basic \(Data(field.utf8).base64EncodedString())"
    guard read(basic) == shown else { return "\(field.debugDescription) is shown as \(basic) and not read" }
    return nil
  }

  private static func check(field: String) -> String? {
    let words = Array(field.utf8).split(separator: 0x20, maxSplits: 1)
    let scheme = words.first.map { String(decoding: $0, as: UTF8.self).lowercased() }
    var credential = words.count == 2 ? Array(words[1]) : []
    while credential.first == 0x20 { credential.removeFirst() }
    while credential.last == 0x20 { credential.removeLast() }
    let expected: [[UInt8]]? =
      switch scheme {
      case "basic" where words.count == 2: decoded(credential).flatMap { split($0, at: 0x3A) }
      case "bearer" where words.count == 2: split(credential, at: 0x2E)
      default: nil
      }
    let read = read(field)
    guard read == expected else {
      return "\(field.debugDescription) shows \(read ?? []), and not \(expected ?? [])"
    }
    return nil
  }

  private static func read(_ field: String) -> [[UInt8]]? {
    guard
      let request = try? HTTPRequest(method: .get, rawTarget: "/", headers: ["Authorization": field]),
      let shown = ReaderCredentials(request)
    else { return nil }
    return [Array(shown.name.utf8), Array(shown.password.utf8)]
  }

  /// In the one spelling of these bytes, with its padding; nil for what is no text.
  private static func decoded(_ text: [UInt8]) -> [UInt8]? {
    guard let data = Data(base64Encoded: Data(text)), Array(data.base64EncodedString().utf8) == text,
      String(validating: data, as: UTF8.self) != nil
    else { return nil }
    return Array(data)
  }

  /// A name of visible characters in small letters, and a password.
  private static func split(_ bytes: [UInt8], at mark: UInt8) -> [[UInt8]]? {
    guard let place = bytes.firstIndex(of: mark) else { return nil }
    let (name, password) = (bytes[..<place], bytes[(place + 1)...])
    guard (1...64).contains(name.count), password.count <= 256,
      name.allSatisfy({ (0x21...0x7E).contains($0) })
    else { return nil }
    return [name.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }, Array(password)]
  }
}
