import PullboxTesting
import Testing

@testable import Receipts

@Suite("Bounded ASN.1 reading")
struct DERReaderTests {
  @Test(
    "integers have up to 64 bits and a sign",
    arguments: [
      ([0x02, 0x01, 0x00], 0), ([0x02, 0x01, 0x7F], 127), ([0x02, 0x02, 0x00, 0x80], 128),
      ([0x02, 0x01, 0x80], -128), ([0x02, 0x01, 0xFF], -1),
      ([0x02, 0x07, 0x07, 0x1A, 0xFD, 0x49, 0x8D, 0x00, 0x00], 2_000_000_000_000_000),
      ([0x02, 0x08, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF], Int64.max),
      ([0x02, 0x08, 0x80, 0, 0, 0, 0, 0, 0, 0], Int64.min),
    ] as [([UInt8], Int64)])
  func integers(octets: [UInt8], value: Int64) throws {
    var reader = DERReader(octets)
    #expect(try reader.integer() == value)
    #expect(DERWriter.integer(value) == octets)
  }

  @Test(
    "what is cut off, indefinite, overlong or too long is refused",
    arguments: [
      [], [0x04], [0x04, 0x01], [0x04, 0x80, 0x00, 0x00], [0x04, 0x81, 0x01, 0x00], [0x04, 0x81],
      [0x04, 0x82, 0x00, 0x80], [0x04, 0x84, 0xFF, 0xFF, 0xFF, 0xFF], [0x04, 0x85, 0, 0, 0, 0, 1, 0],
      [0x04, 0x88, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF], [0x1F, 0x81, 0x01, 0x00],
      [0x04, 0xFF],
    ] as [[UInt8]])
  func refused(octets: [UInt8]) {
    var reader = DERReader(octets)
    #expect(throws: ReceiptError.self) { try reader.next() }
  }

  @Test("integers of no octets or more than eight are refused")
  func integerBounds() {
    for octets: [UInt8] in [[0x02, 0x00], [0x02, 0x09] + [UInt8](repeating: 1, count: 9)] {
      var reader = DERReader(octets)
      #expect(throws: ReceiptError.self) { try reader.integer() }
    }
  }

  @Test("an element may end where its container ends, not later")
  func nesting() throws {
    // SEQUENCE of length 2 that holds an OCTET STRING which claims 2 octets; one lies outside the sequence.
    let octets: [UInt8] = [0x30, 0x03, 0x04, 0x02, 0x01, 0x02]
    var outer = DERReader(octets)
    var inner = outer.inside(try outer.next(DERTag.sequence))
    #expect(throws: ReceiptError.self) { try inner.next() }
  }

  @Test("text is UTF8String or IA5String in valid UTF-8")
  func text() throws {
    var good = DERReader([0x0C, 0x02, 0xC3, 0xA9])
    #expect(try good.text() == "é")
    var bad = DERReader([0x0C, 0x01, 0xC3])
    #expect(throws: ReceiptError.self) { try bad.text() }
    var octetString = DERReader([0x04, 0x01, 0x41])
    #expect(throws: ReceiptError.self) { try octetString.text() }
  }

  @Test("payloads of noise, truncated payloads and payloads with a changed octet never crash the reader")
  func noise() throws {
    var generator = SplitMix(seed: 1)
    for _ in 0..<5000 {
      let length = Int.random(in: 0...200, using: &generator)
      var octets = (0..<length).map { _ in UInt8.random(in: 0...255, using: &generator) }
      _ = try? AppReceipt(payload: octets)  // any outcome but a crash
      if !octets.isEmpty { octets[0] = 0x31 }
      _ = try? AppReceipt(payload: octets)  // likewise
    }
    let payload = Fixtures.receipt().encodedPayload
    for length in 0..<payload.count {
      #expect(throws: ReceiptError.self) { try AppReceipt(payload: Array(payload[..<length])) }
    }
    for position in payload.indices {
      for value: UInt8 in [0x00, 0x80, 0xFF, payload[position] ^ 1] {
        var changed = payload
        changed[position] = value
        _ = try? AppReceipt(payload: changed)  // likewise
      }
    }
  }
}
