package import ContentLibrary
package import ContentPackage
import CoreTypes
package import HTTPServer
package import PullboxAPI
package import SystemCalls

/// A file of content that is on its way, as a response sends it: what was read and is the manifest's is sent, what is missing is waited for
/// and comes before other pieces. Where the download ends, the connection ends short of the body.
package final class StagedFilePresence: FilePresence {
  /// Pieces are wanted for so many bytes ahead of what is sent.
  private static let aheadLength: Int64 = 2 << 20

  private let file: StagedFile
  private let demand: ReadingDemand
  /// Held for as long as the response is sent.
  private let request: any Sendable
  /// The end of the download; nil while it goes on.
  private let end: @Sendable () -> Problem?

  /// A presence of one response, which keeps `request` until it is over.
  package init(
    _ file: StagedFile, of demand: ReadingDemand, for request: any Sendable,
    end: @escaping @Sendable () -> Problem?
  ) {
    self.file = file
    self.demand = demand
    self.request = request
    self.end = end
  }

  /// The file with this presence, to be sent.
  package func descriptor() throws(SystemError) -> SharedDescriptor {
    try SharedDescriptor(try file.duplicateDescriptor(), presence: self)
  }

  package func hold(_ range: Range<Int64>) -> Int64 {
    guard end() == nil else { return range.lowerBound }
    return min(range.upperBound, file.checkedEnd(from: range.lowerBound))
  }

  package func release(_ range: Range<Int64>) {}

  package func bring(
    _ range: Range<Int64>, completion: @escaping @Sendable (FilePresenceError?) -> Void
  ) -> @Sendable () -> Void {
    // Unstructured: the loop that asks has no task, and gives the wait up by itself.
    let task = Task { [self] in
      do {
        try await bring(range)
        completion(nil)
      } catch {
        let failure = error as? FilePresenceError
        completion(
          failure ?? FilePresenceError(.unavailable, (error as? Problem)?.description ?? "\(error)"))
      }
    }
    return { task.cancel() }
  }

  /// Returns once the first byte of the range was compared. Throws the ``Problem`` by which the download ended, ``FilePresenceError``
  /// where what is staged was opened anew, so that nothing more is told of this file, what reading throws, and `CancellationError`.
  package func bring(_ range: Range<Int64>) async throws {
    let ahead = range.lowerBound..<min(range.upperBound, range.lowerBound + Self.aheadLength)
    demand.noteOpened(file.index, at: range.lowerBound, in: file.extents)
    let want = demand.want(ahead, of: file.index, in: file.extents)
    defer { demand.endWant(want) }
    while true {
      let count = demand.changes.count
      if let problem = end() { throw problem }
      if try await check(at: range.lowerBound) { return }
      guard demand.extents === file.extents else {
        throw FilePresenceError(
          .unavailable, "the content on its way was opened anew; another request reads it")
      }
      try await demand.changes.wait(after: count)
    }
  }

  /// Whether the byte may be sent.
  private func check(at offset: Int64) async throws(SystemError) -> Bool {
    guard file.extents.end(of: file.index, from: offset) > offset else { return false }
    return try await StagedReads.pool.run { [file] () throws(SystemError) in
      try file.check(at: offset) == .checked
    }
  }
}

/// The threads on which files of content on its way are read and compared.
package enum StagedReads {
  /// Few, since each reads through a buffer of its own: readers that are many take turns.
  package static let pool = BlockingPool(name: "pullbox-read", threads: 2)
}
