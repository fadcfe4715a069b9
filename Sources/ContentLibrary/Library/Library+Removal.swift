import AgentRecords
import CoreTypes
import Crypto
import Files
import ServiceRuntime
import Synchronization
import SystemCalls

/// Removals that were broken off between the content and its record: the content lies in the trash under its record's mark.
extension Library {
  private static let removed = "removed-"

  /// The beginning of the name in the trash of content that is being removed. Another placing of the same version has another mark.
  static func removalMark(of record: LibraryRecord) -> String {
    let text = "\(record.product)/\(record.version) \(record.placedAt.millisecondsSinceEpoch)"
    return removed + SHA256Digest.of(text.utf8).hexadecimal.prefix(32) + "-"
  }

  /// Ends the removals that the process before has broken off. One that cannot be ended is logged and left: it takes nothing else away.
  /// Blocks; nothing works on the library yet.
  func endRemovals() {
    do {
      for record in try brokenOffRemovals() { end(record) }
    } catch {
      log.warning("interrupted removals cannot be listed", ["error": LogValue(error)])
    }
  }

  /// Ends what a step that failed has left in the trash: removals, as far as they can be ended by now, then all else.
  package func emptyTrashLeft() async {
    guard isTrashLeft.load(ordering: .relaxed) else { return }
    let records = (try? await BlockingPool.shared.run { [self] in try brokenOffRemovals() }) ?? []
    for record in records {
      try? await exclusion.run(record.product) {
        try await BlockingPool.shared.run { [self] in
          // It may have been removed, or placed anew, meanwhile.
          if try brokenOffRemovals().contains(record) { end(record) }
        }
      }
    }
    await BlockingPool.shared.run { [self] in emptyTrash(isRepeated: true) }
  }

  private func end(_ record: LibraryRecord) {
    do {
      if record.isWithdrawn { try removeEmptyWithdrawnFolder(of: record) }
      try forget(record)
    } catch {
      log.warning(
        "an interrupted removal cannot be finished",
        ["path": LogValue(directory(of: record)), "error": LogValue(error)])
    }
  }

  /// The records whose content lies in the trash alone, under their marks.
  private func brokenOffRemovals() throws -> [LibraryRecord] {
    guard try operations.status(of: paths.trash) != nil else { return [] }
    let names = try operations.list(paths.trash).map(\.name).filter { $0.hasPrefix(Self.removed) }
    guard !names.isEmpty else { return [] }
    return try database.libraryRecords().filter { record in
      let mark = Self.removalMark(of: record)
      return names.contains { $0.hasPrefix(mark) } && presence(of: record) == .missing
    }
  }

  /// The names of content in the trash whose record is there still, without its content: of a removal under way, or of one that failed. Where
  /// the records cannot be read it is all that may be.
  func namesOfBrokenOffRemovals(among names: [String]) -> Set<String> {
    let marked = names.filter { $0.hasPrefix(Self.removed) }
    guard !marked.isEmpty else { return [] }
    guard let records = try? database.libraryRecords() else { return Set(marked) }
    let marks = records.filter { presence(of: $0) == .missing }.map(Self.removalMark)
    return Set(marked.filter { name in marks.contains { name.hasPrefix($0) } })
  }
}
