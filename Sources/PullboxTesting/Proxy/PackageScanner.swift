internal import Glibc

/// Finds the bytes of a package in what a server sends on one connection. Only partial responses carry package bytes that
/// matter here: their `Content-Range` tells where the body belongs.
struct PackageScanner {
  /// A stretch of bytes as it passes.
  enum Segment: Equatable {
    /// Heads, and bodies of other responses.
    case other(ArraySlice<UInt8>)
    /// Bytes of a package from that offset on.
    case package(offset: Int64, ArraySlice<UInt8>)
  }

  /// The empty line behind the fields of a head (RFC 9112 §2.1).
  private static let headEnd = Array("\r\n\r\n".utf8)
  /// A head is shorter than this.
  private static let longestHead = 8192

  /// The package bytes that are still to come in this response.
  private var body: Range<Int64>?
  /// The end of what went by outside package bytes.
  private var tail: [UInt8] = []

  /// Divides the next bytes of the connection. The segments together are the chunk, in its order; a head may be split
  /// over chunks.
  mutating func scan(_ chunk: [UInt8]) -> [Segment] {
    var segments: [Segment] = []
    var rest = chunk[...]
    while !rest.isEmpty {
      if let range = body {
        let part = rest.prefix(Int(clamping: range.count))
        segments.append(.package(offset: range.lowerBound, part))
        let next = range.lowerBound + Int64(part.count)
        body = next == range.upperBound ? nil : next..<range.upperBound
        rest = rest.dropFirst(part.count)
      } else {
        let part = removeOther(from: &rest)
        segments.append(.other(part))
      }
    }
    return segments
  }

  /// Removes and answers the bytes up to the end of a head that announces package bytes, or all.
  private mutating func removeOther(from rest: inout ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    let whole = rest
    while let end = endOfHead(in: rest) {
      let head = tail + rest[..<end]
      tail = []
      rest = rest[end...]
      guard let range = Self.contentRange(of: head) else { continue }
      body = range
      return whole[..<end]
    }
    tail = Array((tail + rest).suffix(Self.longestHead))
    rest = rest[rest.endIndex...]
    return whole
  }

  /// The index behind the first empty line that ends in `rest`; it may begin in what went by before. Hundreds of megabytes pass in
  /// tests: line ends are looked for by the C library, which a build without optimization makes no slower.
  private func endOfHead(in rest: ArraySlice<UInt8>) -> Int? {
    let before = tail.suffix(Self.headEnd.count - 1)
    let bytes = before + rest
    var position = bytes.startIndex + before.count
    while let lineEnd = Self.indexOfLineFeed(in: bytes[position...]) {
      position = lineEnd + 1
      if bytes[..<position].suffix(Self.headEnd.count).elementsEqual(Self.headEnd) {
        return rest.startIndex + (position - bytes.startIndex - before.count)
      }
    }
    return nil
  }

  /// The index of the first line feed; nil where there is none.
  private static func indexOfLineFeed(in bytes: ArraySlice<UInt8>) -> Int? {
    unsafe bytes.withUnsafeBytes { buffer in
      guard let base = buffer.baseAddress, let found = unsafe memchr(base, 0x0A, buffer.count) else {
        return nil
      }
      return unsafe bytes.startIndex + (UnsafeRawPointer(found) - base)
    }
  }

  /// The range of `Content-Range: bytes 0-99/1000`.
  private static func contentRange(of head: [UInt8]) -> Range<Int64>? {
    let lines = String(decoding: head, as: UTF8.self).lowercased().split(separator: "\r\n")
    guard let line = lines.first(where: { $0.hasPrefix("content-range:") }) else { return nil }
    let numbers = line.split { !$0.isASCII || !$0.isNumber }.compactMap { Int64($0) }
    guard numbers.count == 3, numbers[0] <= numbers[1] else { return nil }
    return numbers[0]..<(numbers[1] + 1)
  }
}
