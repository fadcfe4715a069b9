import Testing

@testable import PullboxTesting

@Suite("What a proxy knows of the bytes that pass") struct PackageScannerTests {
  /// A response with package bytes, between others of which one holds what looks like the end of a head.
  private static let bytes = Array(
    ("HTTP/1.1 200 OK\r\nContent-Length: 14\r\n\r\nab\r\n\r\ncd\n\r\nef\n\n"
      + "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 5-14/100\r\n\r\n0123456789"
      + "HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno"
      + "HTTP/1.1 206 Partial Content\r\ncontent-range: bytes 90-92/100\r\n\r\nxyz").utf8)

  private func scan(_ chunks: [[UInt8]]) -> (package: [Int64: UInt8], other: [UInt8]) {
    var scanner = PackageScanner()
    var package: [Int64: UInt8] = [:]
    var other: [UInt8] = []
    for segment in chunks.flatMap({ scanner.scan($0) }) {
      switch segment {
      case .other(let part): other += part
      case .package(let offset, let part):
        for (index, byte) in part.enumerated() { package[offset + Int64(index)] = byte }
      }
    }
    return (package, other)
  }

  @Test("package bytes have their places and all others pass, wherever the stream is cut in two")
  func everyCut() {
    var expected: [Int64: UInt8] = [:]
    for (index, byte) in "0123456789".utf8.enumerated() { expected[5 + Int64(index)] = byte }
    for (index, byte) in "xyz".utf8.enumerated() { expected[90 + Int64(index)] = byte }
    let bytes = Self.bytes
    for cut in 0...bytes.count {
      let (package, other) = scan([Array(bytes[..<cut]), Array(bytes[cut...])])
      #expect(package == expected, "\(cut)")
      #expect(other.count == bytes.count - expected.count, "\(cut)")
    }
    let single = scan(bytes.map { [$0] })
    #expect(single.package == expected && single.other.count == bytes.count - expected.count)
  }

  @Test("a head behind a long body is found")
  func longBody() {
    var chunks = (0..<40).map { chunk in (0..<1000).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ chunk) } }
    chunks.append(Self.bytes)
    #expect(scan(chunks).package.count == 13)
  }
}
