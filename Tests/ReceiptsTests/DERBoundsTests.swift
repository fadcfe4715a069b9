import PullboxTesting
import Testing

@testable import Receipts

/// ITU-T X.690 §8 and §10.
@Suite("Lengths, tags and values of ASN.1")
struct DERBoundsTests {
  @Test("contents of every size that takes another octet of length are read whole, and written as they were")
  func lengths() throws {
    for count in [0, 1, 127, 128, 129, 255, 256, 257, 65_535, 65_536, 65_537] {
      let content = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
      let encoded = [0x04] + DERTree.length(count) + content
      var reader = DERReader(encoded)
      let element = try reader.next(DERTag.octetString)
      #expect(reader.octets(element) == content)
      #expect(reader.isAtEnd)
      #expect(DERWriter.element(DERTag.octetString, content) == encoded)
    }
  }

  @Test(
    "a length that is written with more octets than it needs is refused",
    arguments: [0, 1, 127, 128, 255, 256, 65_535])
  func overlong(count: Int) {
    let content = [UInt8](repeating: 7, count: count)
    let shortest = DERTree.length(count)
    let digits = shortest.count == 1 ? shortest : Array(shortest.dropFirst())
    let least = shortest.count == 1 ? 1 : digits.count + 1
    for octets in least...8 {
      let zeros = [UInt8](repeating: 0, count: octets - digits.count)
      var reader = DERReader([0x04, 0x80 | UInt8(octets)] + zeros + digits + content)
      #expect(throws: ReceiptError.self, "\(octets) octets for \(count)") { try reader.next() }
    }
  }

  @Test("a length beyond what is there is refused, however large", arguments: 1...8)
  func beyond(octets: Int) {
    for digit: UInt8 in [0x01, 0x7F, 0x80, 0xFF] {
      let length = [0x80 | UInt8(octets), digit] + [UInt8](repeating: 0xFF, count: octets - 1)
      var reader = DERReader([0x04] + length)
      #expect(throws: ReceiptError.self) { try reader.next() }
    }
  }

  @Test(
    "every first octet of a length that promises more octets than there are is refused",
    arguments: 0x80...0xFF as ClosedRange<UInt8>)
  func promises(first: UInt8) {
    var reader = DERReader([0x30, first])
    #expect(throws: ReceiptError.self) { try reader.next() }
  }

  @Test("tags of several octets are refused, all others are handed over", arguments: UInt8.min...UInt8.max)
  func tags(tag: UInt8) throws {
    var reader = DERReader([tag, 0x00])
    if tag & 0x1F == 0x1F {
      #expect(throws: ReceiptError.self) { try reader.next() }
    } else {
      #expect(try reader.next().tag == tag)
      for bit: UInt8 in 0..<8 {
        var strict = DERReader([tag, 0x00])
        #expect(throws: ReceiptError.self) { try strict.next(tag ^ 1 << bit) }
      }
    }
  }

  @Test("integers of each size are read as they were meant, at the edges of a sign and of an octet")
  func integers() throws {
    var values: [Int] = [0, .max, .min]
    for bits in 1..<63 {
      let power = 1 << bits
      values += [power - 1, power, power + 1, -power - 1, -power, -power + 1]
    }
    for value in values {
      let encoded = DERTree.integer(value).encoded
      var reader = DERReader(encoded)
      #expect(try reader.integer() == Int64(value))
      #expect(DERWriter.integer(Int64(value)) == encoded)
    }
  }

  @Test(
    "an integer is an INTEGER: no boolean, no enumeration, no text",
    arguments: [0x01, 0x0A, 0x04, 0x0C, 0x22] as [UInt8])
  func otherTypes(tag: UInt8) {
    var reader = DERReader([tag, 0x01, 0x01])
    #expect(throws: ReceiptError.self) { try reader.integer() }
  }

  @Test("text is UTF-8 without surrogates, overlong forms or stray octets (RFC 3629)")
  func text() throws {
    let good = ["", "a", "é", "本", "𝄞", "\u{0}", "\u{FFFD}"]
    for text in good {
      var reader = DERReader(DERTree.utf8(text).encoded)
      #expect(try reader.text() == text)
      #expect(DERWriter.utf8(text) == DERTree.utf8(text).encoded)
    }
    let bad: [[UInt8]] = [
      [0x80], [0xC0, 0x80], [0xC1, 0xBF], [0xE0, 0x80, 0x80], [0xED, 0xA0, 0x80], [0xF0, 0x80, 0x80, 0x80],
      [0xF4, 0x90, 0x80, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xE2, 0x82], [0x61, 0xFF],
    ]
    for octets in bad {
      var reader = DERReader(DERTree(0x0C, octets).encoded)
      #expect(throws: ReceiptError.self, "\(octets)") { try reader.text() }
    }
  }

  @Test("a combining character stays what it was: names are compared as octets are, without normalization")
  func normalization() throws {
    var composed = DERReader(DERTree.utf8("\u{E9}").encoded)
    var decomposed = DERReader(DERTree.utf8("e\u{301}").encoded)
    #expect(Array(try composed.text().utf8) == [0xC3, 0xA9])
    #expect(Array(try decomposed.text().utf8) == [0x65, 0xCC, 0x81])
  }

  @Test("an end is expected where it is, and nowhere else")
  func ends() throws {
    var reader = DERReader([0x05, 0x00, 0x05, 0x00])
    _ = try reader.next(DERTag.null)
    #expect(!reader.isAtEnd)
    #expect(throws: ReceiptError.self) { try reader.expectEnd() }
    _ = try reader.next(DERTag.null)
    #expect(throws: Never.self) { try reader.expectEnd() }
    #expect(throws: ReceiptError.self) { try reader.next() }
  }

  /// A tree of random elements, not deeper than `depth`.
  func tree(depth: Int, using generator: inout SplitMix) -> DERTree {
    guard depth > 0, Bool.random(using: &generator) else {
      let count = [0, 1, 5, 127, 128, 300].randomElement(using: &generator) ?? 0
      return .octetString((0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) })
    }
    return .sequence(
      (0..<Int.random(in: 0...5, using: &generator)).map { _ in
        tree(depth: depth - 1, using: &generator)
      })
  }

  func read(_ reader: inout DERReader) throws -> DERTree {
    let element = try reader.next()
    guard element.tag == DERTag.sequence else { return DERTree(element.tag, reader.octets(element)) }
    var inside = reader.inside(element)
    var elements: [DERTree] = []
    while !inside.isAtEnd { elements.append(try read(&inside)) }
    return DERTree(element.tag, of: elements)
  }

  @Test(
    "any tree of elements is read as it was made, and never from less than all of its octets",
    arguments: 0..<40 as Range<UInt64>)
  func trees(seed: UInt64) throws {
    var generator = SplitMix(seed: seed)
    let tree = tree(depth: 6, using: &generator)
    let encoded = tree.encoded
    var reader = DERReader(encoded)
    #expect(try read(&reader) == tree)
    #expect(reader.isAtEnd)
    for length in stride(from: 0, to: encoded.count, by: max(1, encoded.count / 200)) {
      var cut = DERReader(Array(encoded[..<length]))
      #expect(throws: ReceiptError.self) { try read(&cut) }
    }
  }

  @Test("an element never reaches out of the part it is read from", arguments: 0..<200 as Range<UInt64>)
  func containment(seed: UInt64) {
    var generator = SplitMix(seed: seed)
    let octets = (0..<64).map { _ in UInt8.random(in: 0...255, using: &generator) }
    let lower = Int.random(in: 0...64, using: &generator)
    let part = lower..<Int.random(in: lower...64, using: &generator)
    var reader = DERReader(octets, in: part)
    while let element = try? reader.next() {  // the first refusal ends the walk
      #expect(part.contains(element.whole.lowerBound) && element.whole.upperBound <= part.upperBound)
      #expect(element.content.upperBound == element.whole.upperBound)
      #expect(element.whole.lowerBound < element.content.lowerBound)
    }
  }
}
