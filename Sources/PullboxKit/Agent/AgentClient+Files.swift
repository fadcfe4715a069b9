public import Commerce
import CoreTypes
import HTTPClient
public import PullboxAPI
public import PullboxAPIClient

/// Content whose files an app reads through the agent, at its place or on its way.
public enum ReadableContent: Hashable, Sendable {
  /// The content that a download brings, also after it has placed it.
  case download(DownloadIdentifier)
  /// The version of the product that is read: the one that the library holds, else the one that a download brings.
  case product(ProductIdentifier, version: ContentVersion? = nil)

  var address: String {
    switch self {
    case .download(let id): "/v1/downloads/\(id)/files"
    case .product(let product, _): "/v1/library/\(product)/files"
    }
  }

  /// The same content while another version of its product comes.
  func pinned(to version: ContentVersion) -> ReadableContent {
    guard case .product(let product, nil) = self else { return self }
    return .product(product, version: version)
  }

  var query: [(String, String)] {
    guard case .product(_, let version?) = self else { return [] }
    return [("version", version.description)]
  }
}

/// Reading while the content comes. Bytes that are not here yet are waited for, and their pieces are fetched before all others; the download
/// is wanted now for as long as it is read. No byte is returned that is not the publisher's.
///
/// ```swift
/// let files = try await agent.files(of: .download(download.id))
/// if let page = files.page(1) {
///   let picture = try await agent.bytes(of: page, in: .download(download.id))
/// }
/// ```
extension AgentClient {
  /// Bytes that are asked for at once.
  static let readLength: Int64 = 1 << 20
  /// Seconds that the agent waits for bytes before it says that they are not here yet.
  static let readWait = 25

  /// The files of the content, and how much of each is here. A manifest that has not come is waited for. Throws `download-unknown`,
  /// `library-item-unknown` or `version-unknown`, and the reason of a download that has ended or waits for room.
  public func files(of content: ReadableContent) async throws(APICallError) -> ContentFiles {
    while true {
      let response = try await api.exchange(
        "GET", content.address, query: content.query + [("wait", "\(Self.readWait)")])
      guard response.status != 202 else {
        try Self.requireTask()
        continue
      }
      do {
        return try APIJSON.decode(ContentFiles.self, from: response.body)
      } catch {
        throw .unexpectedResponse(status: response.status, detail: APIJSON.explain(error))
      }
    }
  }

  /// A range of a file, all of it unless given; fewer bytes where the file ends before. Waits until they have come, for as long as the task
  /// runs. All of them are in memory: for long files ask for parts, or use ``contents(of:in:from:)``. Throws as ``files(of:)`` does.
  public func bytes(
    of file: ContentFile, in content: ReadableContent, range: Range<Int64>? = nil
  ) async throws(APICallError) -> [UInt8] {
    let range = (range ?? 0..<file.length.rawValue).clamped(to: 0..<file.length.rawValue)
    var bytes: [UInt8] = []
    while Int64(bytes.count) < range.upperBound - range.lowerBound {
      let start = range.lowerBound + Int64(bytes.count)
      bytes += try await part(of: file, in: content, start..<min(range.upperBound, start + Self.readLength))
    }
    return bytes
  }

  /// The page of that number, counted from 1 in the publisher's order of reading, with its bytes; nil for content that has no such page. Waits as
  /// ``bytes(of:in:range:)`` does, and throws as ``files(of:)`` does.
  public func page(
    _ number: Int, of content: ReadableContent
  ) async throws(APICallError) -> ContentPage? {
    let files = try await files(of: content)
    guard let file = files.page(number) else { return nil }
    return ContentPage(
      number: number, count: files.files.count { $0.page != nil }, version: files.version, file: file,
      bytes: try await bytes(of: file, in: content.pinned(to: files.version)))
  }

  /// The file from `offset` on, in parts of 1 MiB at most, each as soon as it has come.
  public func contents(
    of file: ContentFile, in content: ReadableContent, from offset: Int64 = 0
  ) -> ContentFileParts {
    ContentFileParts(agent: self, file: file, content: content, offset: offset)
  }

  /// At least one byte from the beginning of the range, which is not empty.
  func part(
    of file: ContentFile, in content: ReadableContent, _ range: Range<Int64>
  ) async throws(APICallError) -> [UInt8] {
    let address =
      content.address + "/"
      + file.path.split(separator: "/").map { String($0).percentEncoded }.joined(separator: "/")
    while true {
      let response = try await api.exchange(
        "GET", address, query: content.query + [("wait", "\(Self.readWait)")],
        headers: [
          ("Range", "bytes=\(range.lowerBound)-\(range.upperBound - 1)"), ("If-Match", "\"\(file.digest)\""),
        ])
      switch response.status {
      case 206:
        guard response.head.contentRange?.range?.lowerBound == range.lowerBound, !response.body.isEmpty,
          Int64(response.body.count) <= range.upperBound - range.lowerBound
        else { throw .unexpectedResponse(status: 206, detail: "another range than was asked for") }
        return response.body
      case 202: try Self.requireTask()
      default: throw .unexpectedResponse(status: response.status, detail: "no part of the file")
      }
    }
  }

  private static func requireTask() throws(APICallError) {
    guard Task.isCancelled else { return }
    throw .problem(Problem(.notHereYet, "the task was cancelled"))
  }
}

/// A page of content as a reader sees it.
public struct ContentPage: Hashable, Sendable {
  /// The place in the publisher's order of reading, from 1.
  public let number: Int
  /// How many pages the content has.
  public let count: Int
  /// The content version that it is of.
  public let version: ContentVersion
  /// The file, whose path ends as its name does.
  public let file: ContentFile
  /// All bytes of the file.
  public let bytes: [UInt8]
}

/// The bytes of a file, part by part, see ``AgentClient/contents(of:in:from:)``.
public struct ContentFileParts: AsyncSequence, Sendable {
  let agent: AgentClient
  let file: ContentFile
  let content: ReadableContent
  let offset: Int64

  /// Asks for one part after the other.
  public struct Iterator: AsyncIteratorProtocol {
    private let parts: ContentFileParts
    private var offset: Int64

    init(_ parts: ContentFileParts) {
      self.parts = parts
      offset = parts.offset
    }

    /// The next part; nil at the end of the file. Throws as ``AgentClient/files(of:)`` does.
    public mutating func next() async throws(APICallError) -> [UInt8]? {
      let end = Swift.min(parts.file.length.rawValue, offset + AgentClient.readLength)
      guard offset < end else { return nil }
      let part = try await parts.agent.part(of: parts.file, in: parts.content, offset..<end)
      offset += Int64(part.count)
      return part
    }
  }

  /// From the beginning, or from where the sequence begins.
  public func makeAsyncIterator() -> Iterator { Iterator(self) }
}
