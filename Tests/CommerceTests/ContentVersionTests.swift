import Commerce
import PullboxTesting
import Testing

@Suite("Content versions")
struct ContentVersionTests {
  private func version(_ text: String) throws -> ContentVersion {
    try #require(ContentVersion(text), "\(text)")
  }

  @Test(
    "1 to 8 integers below 2^32 make a version, which is written as it was read",
    arguments: [
      "0", "1", "1.0", "1.10", "0.0.1", "10.20.30", "4294967295", "0.4294967295", "1.2.3.4.5.6.7.8",
      "0.0.0.0.0.0.0.0",
    ])
  func allowed(text: String) throws {
    let version = try version(text)
    #expect(version.description == text)
    #expect(version.description == text)
    #expect(version.components == text.split(separator: ".").compactMap { UInt32($0) })
  }

  @Test(
    "anything else makes none",
    arguments: [
      "", ".", "1.", ".1", "1..2", "01", "1.00", "00", "-1", "+1", "1.-1", " 1", "1 ", "1.0\n", "1a",
      "1.0-beta",
      "v1", "4294967296", "99999999999", "1.2.3.4.5.6.7.8.9", "１", "1.٢", "1,0", "0x1", "1e3",
    ])
  func refused(text: String) {
    #expect(ContentVersion(text) == nil)
  }

  @Test(
    "order is by number, component by component; those that are missing count as zero",
    arguments: [
      ("1.9", "1.10"), ("1.10", "2"), ("0", "0.0.1"), ("1", "1.0.1"), ("1.0.9", "1.1"), ("2.9.9", "10"),
      ("1.4294967294", "1.4294967295"), ("0.4294967295", "1"), ("1.2.3.4.5.6.7.7", "1.2.3.4.5.6.7.8"),
    ])
  func order(earlier: String, later: String) throws {
    #expect(try version(earlier) < version(later))
    #expect(try !(version(later) < version(earlier)))
    #expect(try version(earlier) != version(later))
  }

  @Test(
    "zeros at the end change nothing",
    arguments: [("1", "1.0"), ("1", "1.0.0.0.0.0.0.0"), ("0", "0.0"), ("1.10", "1.10.0"), ("0.1", "0.1.0")])
  func trailingZeros(short: String, long: String) throws {
    let (short, long) = try (version(short), version(long))
    #expect(short == long)
    #expect(short.hashValue == long.hashValue)
    #expect(!(short < long) && !(long < short))
    #expect(Set([short, long]).count == 1)
    // How it was written is kept.
    #expect(short.description != long.description)
  }

  @Test("zeros in front or between do", arguments: [("1.0.1", "1.1"), ("0.1", "1"), ("10", "1")])
  func otherZeros(left: String, right: String) throws {
    #expect(try version(left) != version(right))
  }

  @Test("any two versions are in one order, and equal ones in none")
  func totalOrder() throws {
    var random = SplitMix(seed: 4)
    let versions = try (0..<60).map { _ in
      try version(
        (0...Int.random(in: 0...3, using: &random)).map { _ in
          String(Int.random(in: 0...2, using: &random))
        }.joined(separator: "."))
    }
    for left in versions {
      for right in versions {
        #expect([left < right, left == right, right < left].count(where: { $0 }) == 1)
        for third in versions where left < right && right < third {
          #expect(left < third)
        }
      }
    }
  }
}
