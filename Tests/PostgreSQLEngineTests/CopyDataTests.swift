import Database
import Testing

@testable import PostgreSQLEngine

/// The binary format of COPY: PostgreSQL 15, documentation of COPY, "Binary Format".
@Suite("Rows as COPY takes them")
struct CopyDataTests {
  @Test(
    "the header is the signature of eleven bytes, no flags and no extension; the end is a row of -1 columns")
  func frame() {
    #expect(CopyData.header.count == 19)
    #expect(CopyData.header.prefix(11) == [80, 71, 67, 79, 80, 89, 10, 255, 13, 10, 0])
    #expect(CopyData.header.dropFirst(11).allSatisfy { $0 == 0 })
    #expect(CopyData.end == [255, 255])
  }

  @Test("a row is the number of its columns, and each of these its length and its bytes, -1 for NULL")
  func rows() throws {
    var data = CopyData()
    try data.append([.integer(Int64(258)), .null, .text("ä"), .blob([0, 10]), .real(1.5), .text("")])
    #expect(
      data.bytes == [
        0, 6, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 1, 2, 255, 255, 255, 255, 0, 0, 0, 2, 0xC3, 0xA4, 0, 0, 0, 2, 0,
        10, 0, 0, 0, 8,
        0x3F, 0xF8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
      ])
    try data.append([.integer(Int64(-1))])
    #expect(data.bytes.suffix(14) == [0, 1, 0, 0, 0, 8, 255, 255, 255, 255, 255, 255, 255, 255])
  }

  @Test("a text with U+0000 is refused before it is sent")
  func zero() {
    var data = CopyData()
    let error = #expect(throws: DatabaseError.self) { try data.append([.text("a\u{0}b")]) }
    #expect(error?.code == .constraint)
  }
}
