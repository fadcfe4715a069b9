import Crypto
import Foundation
import HTTPServer

@testable import ContentDelivery
@testable import OperatorConsole

/// The words of a browser beside a form: the session in its cookies, and the page to which a sign-in leads. Each line of an input is one of
/// these. A cookie is read as a second reading of its bytes has it and comes back from the field that sets it, and no page lies elsewhere.
enum VisitProperties {
  static let settings: LiveSettings? = {
    let secret = MessageAuthenticationKey(secret: [UInt8](repeating: 2, count: 32))
    let limits = RateLimits(bodiesPerGrant: 1, bodiesPerDevice: 1, grant: nil, device: nil)
    return TicketKeys([TicketKeys.Key(identifier: 1, secret: secret)]).map { keys in
      LiveSettings(
        DeliverySettings(keys: keys, ticketLifetime: .seconds(60), classes: RateClasses(standard: limits)),
        generation: Generation())
    }
  }()

  static func check(_ bytes: [UInt8]) -> String? {
    guard let settings else { return "there are no settings" }
    let lines = bytes.prefix(1024).split(separator: 0x0A, omittingEmptySubsequences: false).prefix(4).map {
      String(decoding: $0, as: UTF8.self)
    }
    for line in lines { if let broken = checkPage(line) { return broken } }
    let secret = secret(of: lines, settings)
    guard secret.map({ Array($0.utf8) }) == plainSecret(of: lines) else {
      return "\(lines) have the secret \(secret ?? "none")"
    }
    guard let secret, !secret.utf8.contains(0x3B) else { return nil }
    guard let request = request([]) else { return "no request" }
    let pair = Door(request, settings: settings).cookie(secret).prefix { $0 != ";" }
    return self.secret(of: [String(pair)], settings) == secret ? nil : "\(pair) does not come back"
  }

  private static func request(_ cookies: [String]) -> HTTPRequest? {
    var request = try? HTTPRequest(method: .get, rawTarget: "/console/")
    request?.isSecure = true
    for cookie in cookies { request?.headers.append(name: "Cookie", value: cookie) }
    return request
  }

  private static func secret(of cookies: [String], _ settings: LiveSettings) -> String? {
    request(cookies).flatMap { Door($0, settings: settings).secret(of: $0) }
  }

  /// RFC 6265, section 4.2.1: pairs with a semicolon between; one of the session's name, and no other.
  private static func plainSecret(of cookies: [String]) -> [UInt8]? {
    let name = Array(Door.secureCookie.utf8)
    let values = cookies.flatMap { Array($0.utf8).split(separator: 0x3B) }.compactMap { pair -> [UInt8]? in
      let named = Array(pair.drop { $0 == 0x20 })
      return named.starts(with: name + [0x3D]) ? Array(named.dropFirst(name.count + 1)) : nil
    }
    guard values.count == 1, (1...100).contains(values[0].count) else { return nil }
    return values[0]
  }

  /// By Foundation, which follows it from the form as a browser does.
  private static func checkPage(_ text: String) -> String? {
    guard let address = Console.page(text)?.text else { return nil }
    guard let form = URL(string: "https://a.example/console/sign-in"),
      let led = URL(string: address, relativeTo: form)?.standardized, led.host() == "a.example",
      led.path(percentEncoded: false).hasPrefix("/console/")
    else { return "a sign-in leads to \(address)" }
    return nil
  }
}
