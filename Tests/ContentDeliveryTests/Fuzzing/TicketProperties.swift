import CoreTypes
import Crypto
import Foundation
import PullboxAPI
import ServiceAPI

@testable import ContentDelivery

/// Tickets and tokens of feeds: what no key has sealed is refused whatever it says, what was sealed opens as it was sealed, and with any
/// change of its text it opens nothing.
///
/// An input that begins with a capital letter S is what is sealed: the bytes of the fields, and behind them the place and the kind of a
/// change. Any other input is a text as clients send it.
enum TicketProperties {
  private static let now: UInt64 = 1_000_000
  private static let digest = SHA256Digest.of([1, 2, 3])

  private static let keys = TicketKeys([
    TicketKeys.Key(identifier: 7, secret: MessageAuthenticationKey(secret: [UInt8](repeating: 2, count: 32))),
    TicketKeys.Key(
      identifier: 0xFFFF_FFFE, secret: MessageAuthenticationKey(secret: [UInt8](repeating: 3, count: 32))),
  ])

  /// The number in the next eight bytes; missing ones are zeros.
  private static func number(_ bytes: [UInt8], at offset: Int) -> UInt64 {
    (offset..<offset + 8).reduce(0) { $0 << 8 | UInt64($1 < bytes.count ? bytes[$1] : 0) }
  }

  /// The text with one character changed, or with one more or fewer.
  private static func changed(_ text: String, by bytes: [UInt8], at offset: Int) -> [UInt8] {
    var changed = Array(text.utf8)
    let place = Int(number(bytes, at: offset) % UInt64(changed.count))
    let byte = offset + 8 < bytes.count ? bytes[offset + 8] : 0x41
    switch number(bytes, at: offset + 9) % 3 {
    case 0: changed[place] = byte
    case 1: changed.remove(at: place)
    default: changed.insert(byte, at: place)
    }
    return changed
  }

  static func checkTicket(_ bytes: [UInt8]) -> String? {
    guard let keys else { return "there are no keys" }
    guard bytes.first == UInt8(ascii: "S") else {
      return (try? keys.open(bytes.span, for: digest, now: now)) == nil
        ? nil : "a ticket opens that no key has sealed"
    }
    let key = bytes.count % 2 == 0 ? keys.newest : keys.key(0xFFFF_FFFE) ?? keys.newest
    let ticket = Ticket(
      rateClass: bytes.count > 1 ? bytes[1] : 0, keyIdentifier: key.identifier, expiry: number(bytes, at: 2),
      handle: DeliveryHandle(high: number(bytes, at: 10), low: number(bytes, at: 18)),
      device: number(bytes, at: 26))
    let text = ticket.sealed(with: key.secret, for: digest)
    let sealed = Array(text.utf8)
    do throws(TicketKeys.Refusal) {
      let opened = try keys.open(sealed.span, for: digest, now: now)
      if opened != ticket || ticket.expiry <= now { return "\(ticket) opens as \(opened)" }
    } catch {
      if error != .expired || ticket.expiry > now { return "\(ticket) is refused: \(error)" }
    }
    if isInvalid(sealed, keys, for: .of([9])) == false { return "a ticket opens another package" }
    let other = changed(text, by: bytes, at: 34)
    if other != sealed, isInvalid(other, keys, for: digest) == false {
      return "a ticket that was changed is genuine"
    }
    return nil
  }

  private static func isInvalid(_ text: [UInt8], _ keys: TicketKeys, for digest: SHA256Digest) -> Bool {
    do throws(TicketKeys.Refusal) {
      _ = try keys.open(text.span, for: digest, now: now)
      return false
    } catch {
      return error == .invalid
    }
  }

  static func checkFeedToken(_ bytes: [UInt8]) -> String? {
    guard let keys else { return "there are no keys" }
    guard bytes.first == UInt8(ascii: "S") else {
      let text = String(decoding: bytes, as: UTF8.self)
      return (try? FeedToken(text, openedWith: keys, now: now)) == nil
        ? nil : "a token opens that no key has sealed"
    }
    let token = FeedToken(
      expiry: number(bytes, at: 2), feed: Int64(bitPattern: number(bytes, at: 10)),
      device: number(bytes, at: 18),
      customer: number(bytes, at: 26))
    let text = token.sealed(with: keys.newest)
    do throws(TicketKeys.Refusal) {
      let opened = try FeedToken(text, openedWith: keys, now: now)
      if opened != token || token.expiry <= now { return "\(token) opens as \(opened)" }
    } catch {
      if error != .expired || token.expiry > now { return "\(token) is refused: \(error)" }
    }
    let sealed = Array(text.utf8)
    let other = changed(text, by: bytes, at: 34)
    guard other != sealed else { return nil }
    let spelled = String(decoding: other, as: UTF8.self)
    if (try? FeedToken(spelled, openedWith: keys, now: now)) != nil {
      return "a token that was changed is genuine"
    }
    // No token opens a package, and no ticket a feed.
    return isInvalid(sealed, keys, for: digest) ? nil : "a token opens a package"
  }
}
