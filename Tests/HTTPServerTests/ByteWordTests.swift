import PullboxTesting
import Testing

@testable import HTTPServer

/// What eight bytes at a time find is held against the same question asked of one byte after the other.
struct ByteWordTests {
  private static let letters = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)

  @Test(
    "the bytes before the first that is not plain are counted, whatever stands in each of the eight places")
  func everyByteInEveryPlace() {
    let digits = Set("0123456789".utf8)
    var wrong: [String] = []
    for place in 0..<8 {
      for byte in UInt8.min...UInt8.max {
        // What comes behind the place must not matter, so it is made of everything that could.
        for rest: UInt8 in [0x61, 0x00, 0x20, 0x7F, 0x80, 0xFF] {
          let input = [UInt8](repeating: 0x61, count: place) + [byte] + [UInt8](repeating: rest, count: 7)
          let word = ByteWord(input.span, at: 0)
          let isValue = byte >= 0x20 && byte != 0x7F
          let isName = Self.letters.contains(byte) || byte == UInt8(ascii: "-")
          let isTarget =
            isName || digits.contains(byte) || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "/")
          for (count, isPlain) in [
            (word.valueBytes, isValue), (word.nameBytes, isName), (word.targetBytes, isTarget),
          ] where isPlain ? count <= place : count != place {
            wrong.append("\(byte) at \(place) before \(rest): \(count)")
          }
        }
      }
    }
    #expect(wrong.isEmpty)
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
