import ContentPackage
import CoreTypes
import PackageTesting
import Testing

/// RFC 1951.
@Suite("Inflating a file whose bytes come part by part")
struct FileInflaterTests {
  private static let content = (0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 7 / 3) }

  /// Blocks that are not compressed (RFC 1951 §3.2.4).
  private static func stream(of content: [UInt8]) -> [UInt8] {
    var stream: [UInt8] = []
    var rest = content[...]
    repeat {
      let block = rest.prefix(65_535)
      rest = rest.dropFirst(block.count)
      let length = UInt16(block.count)
      stream.append(rest.isEmpty ? 1 : 0)
      for value in [length, ~length] {
        stream += [UInt8(truncatingIfNeeded: value), UInt8(truncatingIfNeeded: value >> 8)]
      }
      stream += block
    } while !rest.isEmpty
    return stream
  }

  private static func inflate(_ stream: [UInt8], by step: Int, to length: Int) throws -> [UInt8] {
    let inflater = try FileInflater(length: ByteCount(length), name: "page.png")
    var made: [UInt8] = []
    for start in stride(from: 0, to: stream.count, by: step) {
      inflater.feed(Array(stream[start..<min(stream.count, start + step)]))
      while let bytes = try inflater.next() {
        #expect(!bytes.isEmpty && bytes.count <= FileInflater.outputLength)
        made += bytes
      }
    }
    try inflater.finish()
    return made
  }

  @Test("parts of any length make the file", arguments: [1, 7, 4096, 1 << 20])
  func parts(step: Int) throws {
    let length = step == 1 ? 3_000 : Self.content.count
    let content = Array(Self.content.prefix(length))
    #expect(try Self.inflate(Self.stream(of: content), by: step, to: length) == content)
  }

  @Test("what is cut, goes on behind its end, is longer or shorter than it says, or is no stream is refused")
  func refusals() throws {
    let stream = Self.stream(of: Self.content)
    for (bytes, length) in [
      (Array(stream.dropLast()), Self.content.count), (stream + [0], Self.content.count),
      (stream, Self.content.count - 1), (stream, Self.content.count + 1), ([0xFF, 0xFF, 0xFF], 10), ([], 0),
    ] {
      #expect(
        try refusalCodes { _ = try Self.inflate(bytes, by: 5000, to: length) } == [.compressedDataInvalid])
    }
  }
}
