import CoreTypes
import HTTPServer
import PullboxAPI
import PullboxAPIServer

/// The parts of a form with a file (`multipart/form-data`, RFC 7578), read as they arrive: memory is bounded, however long the file is.
///
///     var form = try MultipartForm(request)
///     while let part = try await form.next() {
///       while let chunk = try await form.chunk() { … }
///     }
struct MultipartForm {
  /// One part, before its content.
  struct Part: Hashable {
    var name: String
    /// Nil for a field that is no file.
    var fileName: String?
  }

  /// Bytes of the fields before a part's content, at most.
  private static let maximumHead = 8192

  private var body: RequestBody.AsyncIterator
  /// The bytes that have arrived and were not given out. They begin with the line break that every delimiter has before it.
  private var buffer: [UInt8] = [0x0D, 0x0A]
  private var isAtEnd = false
  private let delimiter: [UInt8]

  /// Throws `request-malformed` for what is no such form.
  init(_ request: HTTPRequest) throws(Problem) {
    let type = try request.onlyValue(of: "Content-Type") ?? ""
    let parameters = type.split(separator: ";").map { $0.drop { $0 == " " } }
    guard parameters.first?.lowercased() == "multipart/form-data",
      let boundary = parameters.dropFirst().first(where: { $0.lowercased().hasPrefix("boundary=") })?
        .dropFirst(9).filter({ $0 != "\"" }), (1...70).contains(boundary.utf8.count)
    else { throw Problem(.requestMalformed, "a form with a file is expected here") }
    delimiter = Array("\r\n--\(boundary)".utf8)
    body = request.body.makeAsyncIterator()
  }

  /// Goes on to the next part, over what is left of the present one; nil behind the last. Throws `request-malformed`, and what
  /// reading the body throws as a problem.
  mutating func next() async throws(Problem) -> Part? {
    while try await chunk() != nil {}
    buffer.removeFirst(delimiter.count)
    try await fill(to: 2)
    if buffer.starts(with: [0x2D, 0x2D]) { return nil }
    guard buffer.starts(with: [0x0D, 0x0A]) else { throw Self.malformed }
    let end = Array("\r\n\r\n".utf8)
    while true {
      if let place = Self.place(of: end, in: buffer) {
        let head = String(decoding: buffer[2..<max(2, place)], as: UTF8.self)
        // The line break before the content is one that a delimiter may begin with.
        buffer.removeFirst(place + 2)
        guard let part = Self.part(head) else { throw Self.malformed }
        isAtContent = true
        return part
      }
      guard buffer.count <= Self.maximumHead, try await fill(to: buffer.count + 1) else {
        throw Self.malformed
      }
    }
  }

  /// Whether the buffer begins with the line break that ends a part's head, and is none of the content.
  private var isAtContent = false

  /// The next bytes of the present part; nil at its end. Throws as ``next()`` does.
  mutating func chunk() async throws(Problem) -> [UInt8]? {
    while true {
      let skipped = isAtContent ? 2 : 0
      if let place = Self.place(of: delimiter, in: buffer) {
        guard place > skipped else {
          // Nothing is between the head and the delimiter, or it was given out.
          buffer.removeFirst(place)
          isAtContent = false
          return nil
        }
        let content = Array(buffer[skipped..<place])
        buffer.removeFirst(place)
        isAtContent = false
        return content
      }
      // A delimiter may have begun.
      let safe = buffer.count - delimiter.count + 1
      if safe > skipped {
        let content = Array(buffer[skipped..<safe])
        buffer.removeFirst(safe)
        isAtContent = false
        return content
      }
      guard try await fill(to: buffer.count + 1) else { throw Self.malformed }
    }
  }

  /// The whole content of a field. Throws `request-too-large` past `limit` bytes.
  mutating func text(upTo limit: Int) async throws(Problem) -> String {
    var bytes: [UInt8] = []
    while let chunk = try await chunk() {
      bytes += chunk
      guard bytes.count <= limit else {
        throw Problem(.requestTooLarge, "a field has at most \(limit) bytes")
      }
    }
    guard let text = String(validating: bytes, as: UTF8.self), !text.utf8.contains(0) else {
      throw Problem(.requestMalformed, "a field is no text")
    }
    return text
  }

  /// Reads on until so many bytes are there; whether they are.
  @discardableResult
  private mutating func fill(to count: Int) async throws(Problem) -> Bool {
    while buffer.count < count {
      guard !isAtEnd else { return false }
      do throws(RequestBodyError) {
        guard let bytes = try await body.next() else {
          isAtEnd = true
          return false
        }
        buffer += bytes
      } catch {
        throw error.problem(readingUpTo: .zero)
      }
    }
    return true
  }

  private static let malformed = Problem(.requestMalformed, "the form with a file is not whole")

  /// Where `pattern` begins in `bytes`; nil if it does not.
  static func place(of pattern: [UInt8], in bytes: [UInt8]) -> Int? {
    guard let first = pattern.first, bytes.count >= pattern.count else { return nil }
    var start = 0
    let last = bytes.count - pattern.count
    while start <= last {
      guard let candidate = bytes[start...last].firstIndex(of: first) else { return nil }
      if bytes[candidate..<candidate + pattern.count].elementsEqual(pattern) { return candidate }
      start = candidate + 1
    }
    return nil
  }

  /// The name, and the file's name, in a part's `Content-Disposition`; nil without a name.
  static func part(_ head: String) -> Part? {
    let lines = head.split(separator: "\r\n")
    guard let line = lines.first(where: { $0.lowercased().hasPrefix("content-disposition:") }) else {
      return nil
    }
    func parameter(_ name: String) -> String? {
      guard let start = line.range(of: "; \(name)=\"") else { return nil }
      return String(line[start.upperBound...].prefix { $0 != "\"" })
    }
    return parameter("name").map { Part(name: $0, fileName: parameter("filename")) }
  }
}

extension Substring {
  /// Where `text` stands; nil if it does not.
  fileprivate func range(of text: String) -> Range<Index>? { ranges(of: text).first }
}
