import Commerce
import ContentLibrary
import ContentPackage
import CoreTypes
import HTTPServer
import LibraryCatalog
import PullboxAPI
import PullboxAPIServer
import ServiceRuntime
import Synchronization
import SystemCalls

/// Answers with the files of content, whether it is at its place or on its way. What is on its way is answered as its pieces are verified,
/// and these come before others.
struct ContentReader: Sendable {
  /// The content that is read.
  enum Content: Sendable {
    /// At its place in the library.
    case placed(ProductIdentifier, ContentVersion)
    /// On its way, unless its download has placed it.
    case coming(DownloadReading.Request)
  }

  /// The seconds that `wait` can be.
  static let waits = 0...60
  /// How long an answer waits for its first byte where the request does not say.
  static let usualWait = 30

  private let library: Library
  private let files: PlacedFiles
  private let clock: any MonotonicClock

  init(_ library: Library, clock: any MonotonicClock) {
    self.library = library
    files = PlacedFiles(library: library)
    self.clock = clock
  }

  /// The list of the content's files. Content whose manifest has not come is waited for. Throws the ``Problem`` of a download that has ended
  /// or that brings nothing for now.
  func list(_ content: Content, to request: HTTPRequest) async throws -> HTTPResponse {
    let wait = try Self.wait(of: request)
    guard case .coming(let reader) = content else { return try .json(try await placedFiles(content)) }
    let answer = try await look(for: wait ?? Self.usualWait, on: reader) { [self] in
      let standing = reader.reading.standing
      if let problem = standing.end { throw problem }
      switch standing.source {
      case .placed(let product, let version): return try await placedFiles(.placed(product, version))
      case .staged(let demand):
        if let extents = demand.extents { return Self.files(of: extents) }
        if standing.isBeingOpened { return nil }
      case .pending: break
      }
      if let problem = standing.obstacle { throw problem }
      return nil
    }
    guard let answer else { return Self.notHereYet(reader.reading.standing, missing: .zero) }
    return try .json(answer)
  }

  /// A file, or the range of it that is asked for. Without `wait` the answer begins with the first byte that is there and goes on as the
  /// others come. With `wait` it is given when all of them are there, or after so many seconds: then with the bytes from the beginning of
  /// the range that are there (RFC 9110 §15.3.7), or 202. Throws as ``list(_:to:)`` does, and `not-found` for a file that the content does
  /// not have.
  func file(_ path: String, of content: Content, to request: HTTPRequest) async throws -> HTTPResponse {
    let wait = try Self.wait(of: request)
    switch content {
    case .placed(let product, let version): return try await placed(path, of: product, version, to: request)
    case .coming(let reader):
      let search = StagedSearch(path: path, request: request, reader: reader, waitsForAll: wait != nil)
      let found = try await look(for: wait ?? Self.usualWait, on: reader) { [self] in
        try await answer(search)
      }
      if let found { return found }
      if let part = try await beginning(of: search) { return part }
      return Self.notHereYet(reader.reading.standing, missing: search.missing)
    }
  }

  /// Looks at each change until there is something, for so many seconds; nil after them.
  private func look<Value: Sendable>(
    for seconds: Int, on reader: DownloadReading.Request,
    _ body: @escaping @Sendable () async throws -> Value?
  ) async throws -> Value? {
    guard seconds > 0 else { return try await body() }
    let changes = reader.reading.changes
    do {
      return try await withTimeout(.seconds(seconds), clock: clock) {
        while true {
          let count = changes.count
          if let value = try await body() { return value }
          try await changes.wait(after: count)
        }
      } expired: {
        TimeIsUp()
      }
    } catch is TimeIsUp {
      return nil
    }
  }

  private static func wait(of request: HTTPRequest) throws(Problem) -> Int? {
    guard request.queryValue("wait") != nil else { return nil }
    return try request.number("wait", in: waits, default: usualWait)
  }

  /// The answer while what is asked for has not come. `after` is when it may have, by the speed of the download.
  private static func notHereYet(_ standing: DownloadReading.Standing, missing: ByteCount) -> HTTPResponse {
    let status = standing.status
    var seconds = 1
    if status.speed > 0, missing > .zero {
      seconds = max(1, Int(clamping: (Double(missing.rawValue) / status.speed).rounded(.up)))
      seconds = min(60, seconds)
    } else if status.state != .active {
      seconds = 5
    }
    var problem = Problem(
      .notHereYet, "the download is \(status.state.rawValue): \(status.reason)", retryAfterSeconds: seconds)
    problem.after = seconds
    return .problem(problem)
  }
}

/// The seconds of `wait` are over.
private struct TimeIsUp: Error {}

/// A request for bytes of content on its way, over all its looks.
private final class StagedSearch: Sendable {
  private struct Want {
    var demand: ReadingDemand
    var extents: StagedExtents
    var number: UInt64
    var range: Range<Int64>

    func end() { demand.endWant(number) }
  }

  /// Pieces are wanted for so many bytes at a time.
  private static let partLength: Int64 = 2 << 20

  let path: String
  let request: HTTPRequest
  let reader: DownloadReading.Request
  /// Whether it is answered only with all that it asks for.
  let waitsForAll: Bool
  private let held = Mutex<Want?>(nil)
  private let left = Mutex(ByteCount.zero)

  init(path: String, request: HTTPRequest, reader: DownloadReading.Request, waitsForAll: Bool) {
    self.path = path
    self.request = request
    self.reader = reader
    self.waitsForAll = waitsForAll
  }

  deinit {
    held.locked { $0 }?.end()
  }

  /// Bytes that were missing at the last look.
  var missing: ByteCount { left.locked { $0 } }

  /// Wants what comes first of the missing bytes of the file. Of a long range a part at a time, so that others have their turn.
  func want(
    _ missing: Range<Int64>, of file: Int, in extents: StagedExtents, from demand: ReadingDemand
  ) {
    left.locked { $0 = ByteCount(missing.upperBound - missing.lowerBound) }
    let known = held.locked { $0 }
    if let known, known.extents === extents, known.range.contains(missing.lowerBound) { return }
    let part = missing.lowerBound..<min(missing.upperBound, missing.lowerBound + Self.partLength)
    demand.noteOpened(file, at: part.lowerBound, in: extents)
    let number = demand.want(part, of: file, in: extents)
    let next = Want(demand: demand, extents: extents, number: number, range: part)
    held.locked { $0 = next }
    known?.end()
  }
}

// Content at its place.
extension ContentReader {
  private func manifest(of product: ProductIdentifier, _ version: ContentVersion) async throws -> Manifest {
    let manifest = try await PlacedFiles.online {
      try await library.manifest(of: product, version: version)
    }
    guard let manifest else {
      throw Problem(.libraryItemUnknown, "the library does not hold \(product) \(version) to be read")
    }
    return manifest
  }

  private func placedFiles(_ content: Content) async throws -> ContentFiles {
    guard case .placed(let product, let version) = content else {
      throw Problem(.internalError, "the content is not at its place")
    }
    let manifest = try await manifest(of: product, version)
    return Self.files(of: manifest, placed: true) { file in
      file.length == .zero ? [] : [0..<file.length.rawValue]
    }
  }

  private func placed(
    _ path: String, of product: ProductIdentifier, _ version: ContentVersion, to request: HTTPRequest
  ) async throws -> HTTPResponse {
    let manifest = try await manifest(of: product, version)
    let index = try Self.index(of: path, in: manifest)
    let answer = try Self.answer(to: request, manifest.files[index])
    guard let range = answer.range else { return answer.response }
    return answer.with(.file(try await files.open(index, of: manifest), range))
  }
}

// Content on its way.
extension ContentReader {
  /// Nil while there is not enough.
  private func answer(_ search: StagedSearch) async throws -> HTTPResponse? {
    let standing = search.reader.reading.standing
    if let problem = standing.end { throw problem }
    switch standing.source {
    case .placed(let product, let version):
      return try await placed(search.path, of: product, version, to: search.request)
    case .pending: break
    case .staged(let demand):
      guard let extents = demand.extents else {
        if standing.isBeingOpened { return nil }
        break
      }
      if let answer = try await staged(search, extents, demand) { return answer }
    }
    if let problem = standing.obstacle { throw problem }
    return nil
  }

  private func staged(
    _ search: StagedSearch, _ extents: StagedExtents, _ demand: ReadingDemand
  ) async throws -> HTTPResponse? {
    let index = try Self.index(of: search.path, in: extents.manifest)
    let answer = try Self.answer(to: search.request, extents.manifest.files[index])
    guard let range = answer.range else { return answer.response }
    guard search.request.method != .head, !range.isEmpty else {
      return answer.with(.stream(contentLength: range.upperBound - range.lowerBound) { _ in })
    }
    let end = extents.end(of: index, from: range.lowerBound)
    if end < range.upperBound { search.want(end..<range.upperBound, of: index, in: extents, from: demand) }
    guard search.waitsForAll ? end >= range.upperBound : end > range.lowerBound else { return nil }
    return try await send(answer, range, of: index, in: extents, demand, for: search.reader)
  }

  /// After the wait: what is there from the beginning of the range that was asked for.
  private func beginning(of search: StagedSearch) async throws -> HTTPResponse? {
    guard case .staged(let demand) = search.reader.reading.standing.source, let extents = demand.extents
    else {
      return nil
    }
    let index = try Self.index(of: search.path, in: extents.manifest)
    var answer = try Self.answer(to: search.request, extents.manifest.files[index])
    guard answer.isPartial, let range = answer.range else { return nil }
    let end = min(range.upperBound, extents.end(of: index, from: range.lowerBound))
    guard end > range.lowerBound else { return nil }
    answer.narrow(to: range.lowerBound..<end)
    return try await send(answer, range.lowerBound..<end, of: index, in: extents, demand, for: search.reader)
  }

  /// Nil where the content is going to its place at this moment, where what is staged was opened anew, and where the first byte turns out
  /// to be damaged.
  private func send(
    _ answer: FileAnswer, _ range: Range<Int64>, of index: Int, in extents: StagedExtents,
    _ demand: ReadingDemand, for reader: DownloadReading.Request
  ) async throws -> HTTPResponse? {
    let opened = try await StagedReads.pool.run { () throws(SystemError) -> StagedFile? in
      do throws(SystemError) {
        guard let file = try demand.open(index, of: extents), try file.check(at: range.lowerBound) == .checked
        else {
          return nil
        }
        return file
      } catch {
        guard error.isFileMissing else { throw error }
        return nil
      }
    }
    guard let opened else { return nil }
    let presence = StagedFilePresence(opened, of: demand, for: reader) { reader.reading.standing.end }
    return answer.with(.file(try presence.descriptor(), range))
  }

  private static func files(of extents: StagedExtents) -> ContentFiles {
    var ranges = extents.ranges().makeIterator()
    return files(of: extents.manifest, placed: false) { _ in ranges.next() ?? [] }
  }
}

// What both have.
extension ContentReader {
  private static func files(
    of manifest: Manifest, placed: Bool, _ verified: (ManifestFile) -> [Range<Int64>]
  ) -> ContentFiles {
    let pages = Dictionary(
      (manifest.readingOrder ?? []).enumerated().map { ($1, $0 + 1) }, uniquingKeysWith: { first, _ in first }
    )
    return ContentFiles(
      product: manifest.product, version: manifest.version, placed: placed, length: manifest.unpackedLength,
      files: manifest.files.map { file in
        ContentFile(
          path: file.path.text, length: file.length, digest: file.digest, page: pages[file.path],
          verified: verified(file).map { range in
            ContentFile.Part(
              offset: ByteCount(range.lowerBound), length: ByteCount(range.upperBound - range.lowerBound))
          })
      })
  }

  private static func index(of path: String, in manifest: Manifest) throws(Problem) -> Int {
    guard let index = manifest.files.firstIndex(where: { $0.path.text == path }) else {
      throw Problem(.notFound, "the content has no file \(path)")
    }
    return index
  }

  private static func answer(to request: HTTPRequest, _ file: ManifestFile) throws(Problem) -> FileAnswer {
    try FileAnswer(
      to: request, entityTag: "\"\(file.digest)\"", length: file.length.rawValue,
      type: MediaType.guess(forFileNamed: file.path.text).text,
      headers: ["Cache-Control": "private, no-cache", "X-Content-Type-Options": "nosniff"])
  }
}
