import Commerce
import Crypto
import PullboxAPI
import ServiceAPI
import Testing

@testable import ContentDelivery

@Suite("Tickets")
struct TicketTests {
  let keys: TicketKeys
  let ticket: Ticket
  let digest = SHA256Digest.of(Array("package".utf8))
  let old = TicketKeys.Key(
    identifier: 6, secret: MessageAuthenticationKey(secret: [UInt8](repeating: 1, count: 32)))
  let new = TicketKeys.Key(
    identifier: 7, secret: MessageAuthenticationKey(secret: [UInt8](repeating: 2, count: 32)))

  init() throws {
    keys = try #require(TicketKeys([new, old]))
    let handle = try #require(DeliveryHandle((0...15).map { UInt8($0) }))
    let device = try #require(DeviceIdentifier("device-1"))
    ticket = Ticket(
      keyIdentifier: 7, expiry: 1000, handle: handle, device: Ticket.tag(of: device))
  }

  private func open(
    _ text: String, _ digest: SHA256Digest? = nil, now: UInt64 = 999
  ) throws(TicketKeys.Refusal) -> Ticket {
    let bytes = Array(text.utf8)
    return try keys.open(bytes.span, for: digest ?? self.digest, now: now)
  }

  @Test("a ticket opens its content until its expiry, and not in that second")
  func expiry() throws {
    let text = ticket.sealed(with: new.secret, for: digest)
    #expect(text.utf8.count == 72)
    #expect(try open(text) == ticket)
    #expect(throws: TicketKeys.Refusal.expired) { try open(text, now: 1000) }
  }

  @Test("a ticket carries its grant's handle, whose beginning is what operators call the grant")
  func handle() throws {
    let opened = try open(ticket.sealed(with: new.secret, for: digest))
    #expect(opened.handle.bytes == (0...15).map { UInt8($0) })
    #expect(opened.handle.shortName.description == "0001020304050607")
  }

  /// The ticket's bytes with another layout, sealed anew.
  private func sealed(layout: UInt8) throws -> String {
    var bytes = try #require(Base64.decode(ticket.sealed(with: new.secret, for: digest), .url))
    bytes[0] = layout
    let code = new.secret.authenticate(Array(bytes[..<38]).span, digest.array.span).array
    return Base64.encode(bytes[..<38] + code.prefix(16), .url)
  }

  @Test("a ticket of layout 1 opens like one of layout 2; other layouts are invalid")
  func layouts() throws {
    #expect(try open(sealed(layout: 1)) == ticket)
    #expect(throws: TicketKeys.Refusal.expired) { try open(sealed(layout: 1), now: 1000) }
    for layout in [0, 3, 0x81, 0xFF] as [UInt8] {
      #expect(throws: TicketKeys.Refusal.invalid) { try open(sealed(layout: layout)) }
    }
  }

  @Test("a ticket for another digest is invalid, expired or not")
  func otherDigest() {
    let text = ticket.sealed(with: new.secret, for: digest)
    let other = SHA256Digest.of(Array("another".utf8))
    #expect(throws: TicketKeys.Refusal.invalid) { try open(text, other) }
    #expect(throws: TicketKeys.Refusal.invalid) { try open(text, other, now: 5000) }
  }

  @Test("a ticket with any bit changed is invalid")
  func everyBit() throws {
    let text = ticket.sealed(with: new.secret, for: digest)
    let bytes = try #require(Base64.decode(text, .url))
    #expect(bytes.count == 54)
    for bit in 0..<bytes.count * 8 {
      var changed = bytes
      changed[bit / 8] ^= 1 << (bit % 8)
      #expect(throws: TicketKeys.Refusal.invalid) { try open(Base64.encode(changed, .url)) }
    }
  }

  @Test("a ticket of another length or alphabet is invalid", arguments: ["", "A", "AAAA", "=", "\u{0}"])
  func malformed(addition: String) {
    let text = ticket.sealed(with: new.secret, for: digest)
    #expect(throws: TicketKeys.Refusal.invalid) { try open(addition) }
    if !addition.isEmpty {
      #expect(throws: TicketKeys.Refusal.invalid) { try open(text + addition) }
      #expect(throws: TicketKeys.Refusal.invalid) {
        try open(String(text.dropLast(addition.count)) + addition + "*")
      }
    }
  }

  @Test("a ticket of an older key stays valid until that key is dropped")
  func rotation() throws {
    var older = ticket
    older.keyIdentifier = 6
    let text = older.sealed(with: old.secret, for: digest)
    #expect(try open(text) == older)
    let rotated = try #require(TicketKeys([new]))
    let bytes = Array(text.utf8)
    #expect(throws: TicketKeys.Refusal.invalid) { try rotated.open(bytes.span, for: digest, now: 999) }
  }

  @Test("the layout is the documented one, byte for byte")
  func layout() throws {
    let bytes = try #require(Base64.decode(ticket.sealed(with: new.secret, for: digest), .url))
    let head: [UInt8] = [2, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 3, 0xE8] + (0...15).map { UInt8($0) }
    #expect(Array(bytes[..<30]) == head)
    #expect(Array(bytes[30..<38]) == Array(SHA256Digest.of(Array("device-1".utf8)).array.prefix(8)))
    let code = new.secret.authenticate(Array(bytes[..<38]).span, digest.array.span).array
    #expect(Array(bytes[38...]) == Array(code.prefix(16)))
  }

  @Test("a ticket is the one that another implementation made of the same members")
  func knownAnswer() {
    #expect(
      ticket.sealed(with: new.secret, for: digest)
        == "AgAAAAAHAAAAAAAAA-gAAQIDBAUGBwgJCgsMDQ4PAyBN6S4R_IyXn-nyx0Ru9kIhiGPvXsJx")
  }
}
