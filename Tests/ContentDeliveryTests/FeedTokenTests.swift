import CoreTypes
import Crypto
import PullboxAPI
import ServiceAPI
import Testing

@testable import ContentDelivery

@Suite("Tokens of feeds")
struct FeedTokenTests {
  private let keys: TicketKeys
  private let token = FeedToken(
    expiry: 2000, feed: 7, device: 0x0102_0304_0506_0708, customer: 0x1112_1314_1516_1718)

  init() throws {
    keys = try #require(
      TicketKeys([
        TicketKeys.Key(
          identifier: 2, secret: MessageAuthenticationKey(secret: Array(repeating: 2, count: 32))),
        TicketKeys.Key(
          identifier: 1, secret: MessageAuthenticationKey(secret: Array(repeating: 1, count: 32))),
      ]))
  }

  @Test("a token says what was sealed in it, by any key that there is")
  func opens() throws {
    for identifier in [UInt32(1), 2] {
      let text = token.sealed(with: try #require(keys.key(identifier)))
      #expect(text.utf8.count == FeedToken.textLength)
      #expect(try FeedToken(text, openedWith: keys, now: 1999) == token)
    }
  }

  @Test("from its expiry on it is expired, and with any bit changed it is none")
  func refused() throws {
    let text = token.sealed(with: keys.newest)
    #expect(throws: TicketKeys.Refusal.expired) { try FeedToken(text, openedWith: keys, now: 2000) }
    let bytes = try #require(Base64.decode(text, .url))
    for bit in 0..<bytes.count * 8 {
      var changed = bytes
      changed[bit / 8] ^= 1 << (bit % 8)
      let text = Base64.encode(changed, .url)
      #expect(throws: TicketKeys.Refusal.invalid) { try FeedToken(text, openedWith: keys, now: 1999) }
    }
    for text in [
      "", "A", String(repeating: "A", count: 60), String(repeating: "A", count: 71), text + "A",
      String(text.dropLast()),
    ] {
      #expect(throws: TicketKeys.Refusal.invalid) { try FeedToken(text, openedWith: keys, now: 1999) }
    }
  }

  @Test("a token of the layout that named no customer is over")
  func former() {
    let text = Base64.encode([129] + Array(repeating: 0, count: 44), .url)
    #expect(text.utf8.count == 60)
    #expect(throws: TicketKeys.Refusal.expired) { try FeedToken(text, openedWith: keys, now: 1) }
  }

  @Test("a ticket's text is no token")
  func ticket() throws {
    let ticket = Ticket(
      keyIdentifier: 2, expiry: 2000, handle: .make(at: Timestamp(millisecondsSinceEpoch: 0)), device: 1
    )
    .sealed(with: keys.newest.secret, for: .of([1, 2, 3]))
    #expect(throws: TicketKeys.Refusal.invalid) { try FeedToken(ticket, openedWith: keys, now: 1) }
  }
}
