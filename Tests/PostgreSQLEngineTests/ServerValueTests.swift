import Database
import Testing

@testable import PostgreSQLEngine

/// The binary forms of PostgreSQL's types: its sources' `*send` functions, `pgsql/src/backend/utils/adt`.
@Suite("Values as PostgreSQL sends them")
struct ServerValueTests {
  private func value(_ bytes: [UInt8], _ type: UInt32) -> SQLValue? {
    SQLValue(binary: bytes.span, type: type)
  }

  @Test("whole numbers of every width are integers")
  func integers() {
    #expect(value([0, 0, 0, 0, 0, 0, 1, 0], ServerType.int8) == .integer(Int64(256)))
    #expect(value([255, 255, 255, 254], ServerType.int4) == .integer(Int64(-2)))
    #expect(value([255, 255], ServerType.int2) == .integer(Int64(-1)))
    #expect(value([1], ServerType.bool) == .integer(Int64(1)))
    #expect(value([0], ServerType.bool) == .integer(Int64(0)))
  }

  @Test(
    "a sum of whole numbers is an integer, as far as that goes",
    arguments: [
      ([0, 0, 0, 0, 0, 0, 0, 0], 0), ([0, 1, 0, 0, 0, 0, 0, 0, 0, 7], 7),
      // 12,345,678: two digits of base 10,000.
      ([0, 2, 0, 1, 0, 0, 0, 0, 0x04, 0xD2, 0x16, 0x2E], 12_345_678),
      // 10,000: its digit of ones is left out.
      ([0, 1, 0, 1, 0, 0, 0, 0, 0, 1], 10_000), ([0, 1, 0, 0, 0x40, 0, 0, 0, 0, 5], -5),
    ] as [([UInt8], Int64?)])
  func sums(bytes: [UInt8], sum: Int64?) {
    #expect(value(bytes, ServerType.numeric) == sum.map { .integer($0) })
  }

  @Test("the bounds of eight bytes are numbers, and one beyond is none")
  func bounds() {
    func numeric(_ sign: UInt8, _ last: UInt8) -> [UInt8] {
      // 922 3372 0368 5477 5807
      [0, 5, 0, 4, sign, 0, 0, 0, 0x03, 0x9A, 0x0D, 0x2C, 0x01, 0x70, 0x15, 0x65, 0x16, last]
    }
    #expect(value(numeric(0, 0xAF), ServerType.numeric) == .integer(Int64.max))
    #expect(value(numeric(0x40, 0xB0), ServerType.numeric) == .integer(Int64.min))
    #expect(value(numeric(0, 0xB0), ServerType.numeric) == nil)
    #expect(value(numeric(0x40, 0xB1), ServerType.numeric) == nil)
  }

  @Test(
    "text, bytes and reals are what they are; other types, and bytes that are none of theirs, are refused")
  func others() {
    #expect(value(Array("ä".utf8), ServerType.text) == .text("ä"))
    #expect(value([], ServerType.text) == .text(""))
    #expect(value([0, 1], ServerType.bytea) == .blob([0, 1]))
    #expect(value([0x3F, 0xF8, 0, 0, 0, 0, 0, 0], ServerType.float8) == .real(1.5))
    #expect(value([0xFF], ServerType.text) == nil)
    #expect(value([1, 2, 3], ServerType.int8) == nil)
    // A fraction: 0.5.
    #expect(value([0, 1, 0xFF, 0xFF, 0, 0, 0, 1, 0x13, 0x88], ServerType.numeric) == nil)
    #expect(value([0, 0, 0, 0, 0xC0, 0, 0, 0], ServerType.numeric) == nil)
    // A zero, and more behind it.
    #expect(value([0, 0, 0, 12, 0, 0, 0, 0, 0, 0, 0, 0], ServerType.numeric) == nil)
    // A date.
    #expect(value([0, 0, 0, 1], 1082) == nil)
  }

  @Test("a text with U+0000 is refused before it is sent")
  func zero() {
    let error = #expect(throws: DatabaseError.self) { try SQLValue.text("a\u{0}b").parameter() }
    #expect(error?.code == .constraint)
  }
}
