import PullboxTesting
import Testing

@testable import HTTPParsing

/// Findings of many bytes at a time are held against the same question asked of one byte after the other.
struct ByteWordTests {
  private static let letters = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)

  @Test(
    "an element ends at the first byte that is not of its kind, whatever stands at each place of two blocks")
  func everyByteInEveryPlace() {
    let digits = Set("0123456789".utf8)
    var wrong: [String] = []
    for place in 0..<33 {
      for byte in UInt8.min...UInt8.max {
        // The bytes behind the place must not matter, so they are of those that could.
        for rest: UInt8 in [0x61, 0x00, 0x80] {
          let input = [UInt8](repeating: 0x61, count: place) + [byte] + [UInt8](repeating: rest, count: 17)
          let isHost = Self.letters.contains(byte) || digits.contains(byte) || byte == 0x2D || byte == 0x2E
          let isTarget = isHost || byte == UInt8(ascii: "/")
          let span = input.span
          for (end, isOfKind) in [
            (span.endOfValue(from: 0, to: input.count), ASCII.isFieldValue(byte)),
            (span.endOfToken(from: 0, to: input.count), ASCII.isToken(byte)),
            (span.endOfPlainTarget(from: 0, to: input.count), isTarget),
            (span.endOfPlainHost(from: 0, to: input.count), isHost),
          ] where isOfKind ? end <= place : end != place {
            wrong.append("\(byte) at \(place) before \(rest): \(end)")
          }
        }
      }
    }
    #expect(wrong.isEmpty)
  }

  @Test("registered names are made of unreserved characters, delimiters and percent signs")
  func registeredNames() {
    let allowed = Self.letters.union("0123456789-._~!$&'()*+;=%".utf8)
    #expect((UInt8.min...UInt8.max).allSatisfy { ASCII.isRegisteredName($0) == allowed.contains($0) })
  }

  @Test("letters become small and nothing else changes, and the last of the bytes is in the lowest bits")
  func lowercased() {
    var wrong: [String] = []
    for place in 0..<8 {
      for byte in UInt8.min...UInt8.max {
        var input = Array("AbZz@[`{".utf8)
        input[place] = byte
        for count in 1...8 {
          let expected = input.prefix(count).reduce(UInt64(0)) { sum, byte in
            sum << 8 | UInt64(Self.letters.contains(byte) ? byte | 0x20 : byte)
          }
          let found = ByteWord(input.span, at: 0).lowercased(count)
          if found != expected { wrong.append("\(byte) at \(place), \(count) bytes: \(found)") }
        }
      }
    }
    #expect(wrong.isEmpty)
  }

  @Test("an element ends where it ends byte by byte, from every place to every place", arguments: 0..<16)
  func ends(_ seed: UInt64) {
    var random = SplitMix(seed: seed)
    // Mostly plain bytes, so that words as well as their ends are met.
    let odd: [UInt8] = [0x00, 0x09, 0x0D, 0x20, 0x22, 0x25, 0x3A, 0x3F, 0x5F, 0x7E, 0x7F, 0x80, 0xFF]
    let input: [UInt8] = (0..<40).map { _ in
      UInt8.random(in: 0..<12, using: &random) == 0
        ? odd[Int.random(in: 0..<odd.count, using: &random)] : 0x6B
    }
    let span = input.span
    var wrong: [Range<Int>] = []
    for start in 0...input.count {
      for end in start...input.count {
        func first(_ isPlain: (UInt8) -> Bool) -> Int { (start..<end).first { !isPlain(input[$0]) } ?? end }
        let plain = span.endOfPlainTarget(from: start, to: end)
        guard span.endOfValue(from: start, to: end) == first(ASCII.isFieldValue),
          span.endOfToken(from: start, to: end) == first(ASCII.isToken),
          span.endOfTarget(from: start, to: end) == first(ASCII.isTarget),
          plain >= start && plain <= end,
          !input[start..<plain].contains(where: { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "%") })
        else {
          wrong.append(start..<end)
          continue
        }
      }
    }
    #expect(wrong.isEmpty, "in \(input)")
  }
}
