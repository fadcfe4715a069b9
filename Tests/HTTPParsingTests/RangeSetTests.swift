import Testing

@testable import HTTPParsing

/// Expected values from RFC 9110 §14, row by row of docs of what servers get wrong.
struct RangeSetTests {
  static let length: Int64 = 86_893

  static let vectors: [(String, RangeSet)] = [
    ("bytes=0-5", .single(0..<6)),
    ("bytes=0-0", .single(0..<1)),
    ("bytes=-1", .single(86_892..<86_893)),
    ("bytes=-500", .single(86_393..<86_893)),
    ("bytes=9500-", .single(9500..<86_893)),
    ("bytes=0-", .single(0..<86_893)),
    ("bytes=86892-", .single(86_892..<86_893)),
    ("bytes=0-86892", .single(0..<86_893)),
    ("bytes=0-86893", .single(0..<86_893)),
    // A suffix of nothing, and a start at the end.
    ("bytes=-0", .unsatisfiable),
    ("bytes=86893-", .unsatisfiable),
    ("bytes=86893-86900", .unsatisfiable),
    ("bytes=5-5", .single(5..<6)),
    // Numbers that no integer holds.
    ("bytes=0-99999999999999999999999", .single(0..<86_893)),
    ("bytes=99999999999999999999999-", .unsatisfiable),
    ("bytes=-99999999999999999999999", .single(0..<86_893)),
    ("bytes=0-9223372036854775807", .single(0..<86_893)),
    ("bytes=0-9223372036854775808", .single(0..<86_893)),
    ("bytes=-9223372036854775808", .single(0..<86_893)),
    ("bytes=18446744073709551616-", .unsatisfiable),
    // Not valid: the field does not exist.
    ("bytes=10-5", .ignore),
    ("bytes=abc", .ignore),
    ("bytes=-", .ignore),
    ("bytes=5", .ignore),
    ("bytes=0x1-0x5", .ignore),
    ("bytes=+1-5", .ignore),
    ("bytes=--5", .ignore),
    ("bytes=1-5-", .ignore),
    ("bytes=1 -5", .ignore),
    ("bytes=1- 5", .ignore),
    ("bytes=", .ignore),
    ("bytes=,", .ignore),
    ("bytes", .ignore),
    ("", .ignore),
    ("bytes = 0-5", .ignore),
    ("bytes:0-5", .ignore),
    ("items=0-5", .ignore),
    ("byte=0-5", .ignore),
    ("bytess=0-5", .ignore),
    ("bytes=0-5,10-7", .ignore),
    ("bytes=0-5;7-9", .ignore),
    ("bytes=0-5,x", .ignore),
    // White space, empty elements and case.
    ("bytes= 0-5", .single(0..<6)),
    ("bytes=,0-5", .single(0..<6)),
    ("bytes=0-5,", .single(0..<6)),
    ("bytes=0-5 ,\t, ", .single(0..<6)),
    ("BYTES=0-5", .single(0..<6)),
    ("Bytes=0-5", .single(0..<6)),
    // Several.
    ("bytes=0-5,99999999-", .single(0..<6)),
    ("bytes=-0,0-5", .single(0..<6)),
    ("bytes=99999999-,-0", .unsatisfiable),
    ("bytes=0-5, 7-9", .single(0..<10)),
    ("bytes=0-5,,7-9", .single(0..<10)),
    ("bytes=0-5,3-9", .single(0..<10)),
    ("bytes=7-9,0-5", .single(0..<10)),
    ("bytes=0-,0-", .single(0..<86_893)),
    ("bytes=0-999,4500-5499,-1000", .several([0..<1000, 4500..<5500, 85_893..<86_893])),
    ("bytes= 0-999, 4500-5499, -1000", .several([0..<1000, 4500..<5500, 85_893..<86_893])),
    ("bytes=5000-5999,0-99", .several([5000..<6000, 0..<100])),
    // 80 bytes between them keep two ranges apart; 79 join them.
    ("bytes=0-9,90-99", .several([0..<10, 90..<100])),
    ("bytes=0-9,89-99", .single(0..<100)),
    // The last joins the first two, in the place of the first.
    ("bytes=0-9,5000-5009,300-309,10-299", .several([0..<310, 5000..<5010])),
  ]

  @Test("a range field means what RFC 9110 says", arguments: vectors)
  func vector(field: String, expected: RangeSet) {
    let bytes = Array(field.utf8)
    #expect(RangeSet.parse(bytes.span, length: Self.length) == expected)
  }

  @Test("an empty representation has no ranges", arguments: ["bytes=0-", "bytes=-1", "bytes=0-0"])
  func empty(_ field: String) {
    let bytes = Array(field.utf8)
    #expect(RangeSet.parse(bytes.span, length: 0) == .ignore)
  }

  @Test("offsets beyond 2^31 and 2^32 are exact")
  func largeOffsets() {
    let bytes = Array("bytes=4294967295-4294967297".utf8)
    #expect(RangeSet.parse(bytes.span, length: 1 << 33) == .single(4_294_967_295..<4_294_967_298))
    let edge = Array("bytes=2147483647-".utf8)
    #expect(RangeSet.parse(edge.span, length: 1 << 31) == .single(2_147_483_647..<2_147_483_648))
  }

  @Test("32 ranges are served, 33 are not")
  func count() {
    func field(_ count: Int) -> [UInt8] {
      var text = "bytes="
      for number in 0..<count { text += "\(number)000-\(number)000," }
      return Array(text.utf8)
    }
    let most = field(32)
    let tooMany = field(33)
    var expected: [Range<Int64>] = []
    for number in 0..<Int64(32) {
      let start: Int64 = number * 1000
      expected.append(start..<start + 1)
    }
    let parsed = RangeSet.parse(most.span, length: 1 << 20)
    #expect(parsed == .several(expected))
    #expect(RangeSet.parse(tooMany.span, length: 1 << 20) == .unsatisfiable)
    let overlapping = Array(("bytes=" + String(repeating: "0-,", count: 300)).utf8)
    #expect(RangeSet.parse(overlapping.span, length: 1 << 20) == .unsatisfiable)
  }
}
