import Commerce
import CoreTypes
import Crypto
import Files
import PullboxAPI
import PullboxKit
import ServiceRuntime
import SystemCalls

/// A page of content that is still on its way, which is brought before the rest and kept in a file for the program that shows it.
struct ComingPage: Sendable {
  let product: ProductIdentifier
  let version: ContentVersion
  let file: ContentFile

  /// The page of that number, counted from 1, of what a download of the product brings: its first page unless one is named, and all of
  /// content that is one file. Throws a failure for a page that it does not have, and `library-item-unknown` where nothing of the product
  /// is under way.
  static func find(
    _ page: String?, of product: ProductIdentifier, at agent: AgentClient
  ) async throws -> ComingPage {
    let files = try await agent.files(of: .product(product))
    let count = files.files.count { $0.page != nil }
    let found: ContentFile?
    if let page {
      found = Int(page).flatMap { files.page($0) }
    } else {
      found = files.page(1) ?? (files.files.count == 1 ? files.files.first : nil)
    }
    guard let found else {
      throw CommandFailure(
        .failed,
        count > 0
          ? "\(page ?? ""): \(product) has the pages 1 to \(count)"
          : "\(product) has no pages that lie in files of their own; it can be opened when it is here")
    }
    return ComingPage(product: product, version: files.version, file: found)
  }

  /// Removes the pages of a product that were opened while it was on its way: it is here now.
  static func removeAll(of product: ProductIdentifier, keptIn state: CommandStateDirectory) async throws {
    let parent = state.path + "/coming"
    try await BlockingPool.shared.run { () throws in
      guard try FileSystem.status(of: parent) != nil else { return }
      for entry in try FileSystem.list(parent) where entry.name.hasPrefix("\(product)-") {
        // Another product's name may begin so.
        guard ContentVersion(String(entry.name.dropFirst("\(product)-".utf8.count))) != nil else { continue }
        try FileSystem.removeRecursively("\(parent)/\(entry.name)")
      }
    }
  }

  /// Waits for its bytes, and returns the path of a file that has them. Pages of other content that were opened so are removed then; what other
  /// commands are fetching stays, and the same page may be fetched by several.
  func fetch(from agent: AgentClient, keptIn state: CommandStateDirectory) async throws -> String {
    let parent = state.path + "/coming"
    let directory = "\(parent)/\(product)-\(version)"
    let target = "\(directory)/\(FileSystem.lastPart(of: file.path))"
    let part = "\(parent)/\(Self.partial)\(RandomBytes.token(bits: 64))"
    // A signal ends the process without an error to catch here.
    InterruptHandler.removeAtEnd(part)
    let writer = try await BlockingPool.shared.run { () throws(SystemError) in
      try FileSystem.createDirectories(parent, permissions: 0o700)
      return PartialFile(try FileDescriptor.open(part, .readWrite, options: [.create, .exclusive]))
    }
    do {
      var position = ByteCount.zero
      for try await piece in agent.contents(of: file, in: .product(product, version: version)) {
        let offset = position
        try await BlockingPool.shared.run { () throws(SystemError) in
          try writer.descriptor.write(piece.span, at: offset)
        }
        position = position + ByteCount(piece.count)
      }
      try await BlockingPool.shared.run { () throws(SystemError) in
        try Self.move(part, to: target, in: directory)
        try Self.removeOthers(than: directory, in: parent)
      }
    } catch {
      await Self.discard(part)
      throw error
    }
    return target
  }

  /// Removes what has come of a page whose opening failed. Runs to its end in a task that is cancelled.
  private static func discard(_ part: String) async {
    // A part that stays is removed at the end of the process.
    _ = try? await BlockingPool.shared.run { () throws(SystemError) in try FileSystem.removeFile(part) }
  }

  /// The beginning of the names of what is being fetched.
  private static let partial = ".part-"
  /// A file that is older was left by a command that was killed.
  private static let longestFetch: Duration = .seconds(7 * 86_400)

  /// Another command may remove the directory between the two steps.
  private static func move(_ part: String, to target: String, in directory: String) throws(SystemError) {
    for _ in 1..<8 {
      try FileSystem.createDirectories(directory, permissions: 0o700)
      do throws(SystemError) {
        return try FileSystem.rename(part, to: target)
      } catch {
        guard error.isFileMissing, try FileSystem.status(of: part) != nil else { throw error }
      }
    }
    try FileSystem.rename(part, to: target)
  }

  private static func removeOthers(than directory: String, in parent: String) throws(SystemError) {
    let now = SystemWallClock().now()
    for name in try FileSystem.list(parent).map(\.name) where "\(parent)/\(name)" != directory {
      let path = "\(parent)/\(name)"
      if name.hasPrefix(partial), let status = try FileSystem.status(of: path),
        now - status.modified < longestFetch
      {
        continue
      }
      try FileSystem.removeRecursively(path)
    }
  }
}

/// Tells one who opens a page of coming content why the download waits, once for each reason. A pure value.
struct PageWait {
  private let product: ProductIdentifier
  private var told = ""

  init(_ product: ProductIdentifier) { self.product = product }

  /// The sentences that an update of the agent brings; none where nothing is new, and none while the download goes on.
  mutating func news(of update: AgentUpdate) -> [String] {
    let downloads =
      switch update {
      case .snapshot(_, let downloads): downloads
      case .event(.download(let download)): [download]
      case .event, .lost: [DownloadStatus]()
      }
    return downloads.compactMap { download in
      guard download.product == product, download.section == nil, !download.state.isFinal else { return nil }
      guard download.state != .active else {
        told = ""
        return nil
      }
      // The time of the next try is another one in each sentence.
      var standing = download
      standing.notBefore = nil
      let reason = StandingText.of(standing)
      guard reason != told else { return nil }
      told = reason
      let way =
        download.state == .paused
        ? "'pullbox resume \(download.id)' goes on with it"
        : "the page comes when it goes on, at once by 'pullbox resume --now \(download.id)'"
      return "\(product) \(StandingText.of(download)); \(way)"
    }
  }
}

/// A descriptor that closures can hold.
private final class PartialFile: Sendable {
  let descriptor: FileDescriptor
  init(_ descriptor: consuming FileDescriptor) { self.descriptor = descriptor }
}
