import Glibc
import PullboxTesting
import Testing

@testable import HTTPServer

@Suite("Addresses as text")
struct AddressTextTests {
  private static let samples = [
    "192.0.2.1", "0.0.0.0", "255.255.255.255", "1.2.3", "1.2.3.4.5", "01.2.3.4", "1.2.3.00", "256.1.1.1",
    "1..2.3",
    ".1.2.3.4", "1.2.3.4.", "1.2.3.4 ", "", ":", "::", ":::", "::1", "1::", "1::2", "1:2:3:4:5:6:7:8",
    "1:2:3:4:5:6:7",
    "1:2:3:4:5:6:7::", "::2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8::", "1:2:3:4:5:6:7:8:9", "1::2::3", "12345::",
    "g::", ":1",
    "1:", "::1:", "::ffff:192.0.2.1", "::192.0.2.1", "1:2:3:4:5:6:192.0.2.1", "1:2:3:4:5:6:7:192.0.2.1",
    "::1:2:3:4:5:192.0.2.1", "::1:2:3:4:5:6:192.0.2.1", "192.0.2.1::", "::192.0.2.256", "::192.0.2.1:1",
    "::1%eth0",
    "2001:DB8::Abc", "[::1]", "::0001", "::00001", "unix", "10.0.0.0/8", "fe80::1:2",
    "abcd:abcd:abcd:abcd:abcd:abcd:192.168.100.200",
  ]

  @Test("what is an address is what inet_pton(3) takes for one, mutated samples included")
  func reading() {
    var generator = SplitMix(seed: 14)
    let alphabet = Array("0123456789abcdefF:.:. /%".utf8)
    for sample in Self.samples {
      for round in 0..<400 {
        var bytes = Array(sample.utf8)
        for _ in 0..<min(round, 3) {
          let place = Int.random(in: 0...bytes.count, using: &generator)
          let byte = alphabet.randomElement(using: &generator) ?? 0x30
          switch Int.random(in: 0..<3, using: &generator) {
          case 0: bytes.insert(byte, at: place)
          case 1 where place < bytes.count: bytes[place] = byte
          default: if place < bytes.count { bytes.remove(at: place) }
          }
        }
        let text = String(decoding: bytes, as: UTF8.self)
        var four = in_addr()
        var six = in6_addr()
        let expected: (UInt64, UInt64)? =
          if unsafe inet_pton(AF_INET, text, &four) == 1 {
            (0, UInt64(UInt32(bigEndian: four.s_addr)))
          } else if unsafe inet_pton(AF_INET6, text, &six) == 1 {
            unsafe withUnsafeBytes(of: &six) {
              unsafe (
                UInt64(bigEndian: $0.loadUnaligned(as: UInt64.self)),
                UInt64(bigEndian: $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
              )
            }
          } else {
            nil
          }
        let found = PeerAddress(host: text)
        #expect((found == nil) == (expected == nil), "\(text)")
        guard let found, let expected else { continue }
        let isMapped = expected.0 == 0 && expected.1 >> 32 == 0xFFFF
        #expect(found.high == expected.0, "\(text)")
        #expect(found.low == (isMapped ? expected.1 & 0xFFFF_FFFF : expected.1), "\(text)")
      }
    }
  }

  @Test("an address is written as inet_ntop(3) writes it, and read back")
  func writing() throws {
    var generator = SplitMix(seed: 15)
    for round in 0..<4000 {
      // Groups of zeros, in every place and length.
      let pattern = UInt8(truncatingIfNeeded: round)
      let groups = (0..<8).map { index in
        pattern >> UInt8(index) & 1 == 1
          ? 0 : UInt16.random(in: 0...(round % 3 == 0 ? 15 : .max), using: &generator)
      }
      let high = groups[..<4].reduce(UInt64(0)) { $0 << 16 | UInt64($1) }
      let low = groups[4...].reduce(UInt64(0)) { $0 << 16 | UInt64($1) }
      let address = PeerAddress(family: .version6, port: UInt16(round), high: high, low: low)
      var bits = (high.bigEndian, low.bigEndian)
      var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
      try #require(unsafe inet_ntop(AF_INET6, &bits, &text, socklen_t(text.count)) != nil)
      let expected = String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
      #expect(address.host == expected)
      #expect(address.description == "[\(expected)]:\(round)")
      let four = PeerAddress(family: .version4, port: UInt16(round), high: 0, low: low & 0xFFFF_FFFF)
      #expect(PeerAddress(host: four.host, port: four.port) == four)
    }
    #expect(PeerAddress.unix.description == "unix")
    #expect(
      PeerAddress(family: .version4, port: 65_535, high: 0, low: 0x0A00_00FF).description
        == "10.0.0.255:65535")
  }
}
