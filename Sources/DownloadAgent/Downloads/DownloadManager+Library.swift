import Commerce
import PullboxAPI

extension DownloadManager {
  /// While the library is not there, jobs are held; what waited for it goes on once it is.
  func libraryChanged(isOnline: Bool) {
    changeEnvironment { $0.isLibraryOffline = !isOnline }
    if isOnline { retry { $0 == .libraryOffline } }
  }

  /// Those of `identifiers` that wait for room go on.
  func roomAppeared(for identifiers: [ContentJobIdentifier]) {
    for identifier in identifiers where jobs[identifier]?.record.machine.reason == .insufficientSpace {
      processJob(.retryRequested, of: identifier)
    }
  }

  /// Whether something waits for the library or for room.
  var waitsForLibrary: Bool {
    let reasons =
      runner.entries.values.map(\.record.machine.reason) + jobs.entries.values.map(\.record.machine.reason)
    return reasons.contains { $0 == .libraryOffline || $0 == .insufficientSpace }
  }

  /// The products that a download is under way for.
  func unfinishedProducts() -> Set<ProductIdentifier> {
    Set(runner.entries.values.filter { !$0.record.machine.state.isFinal }.map(\.record.product))
  }

  /// The downloads of the product that are under way.
  func unfinished(of product: ProductIdentifier) -> [DownloadStatus] {
    runner.entries.values.filter { $0.record.product == product && !$0.record.machine.state.isFinal }
      .map { status(of: $0.record) }
  }

  private func retry(_ isDue: (StatusReason) -> Bool) {
    for (identifier, entry) in jobs.entries
    where entry.record.machine.state == .waiting && isDue(entry.record.machine.reason) {
      processJob(.retryRequested, of: identifier)
    }
    for (identifier, entry) in runner.entries
    where entry.record.machine.state == .waiting && isDue(entry.record.machine.reason) {
      process(.resumeRequested, of: identifier)
    }
  }
}
