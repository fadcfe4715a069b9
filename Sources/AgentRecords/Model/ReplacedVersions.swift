package import Commerce
package import CoreTypes
package import PullboxAPI

/// Which versions of a product a later one has replaced, and to which one the way goes back. Pure.
package enum ReplacedVersions {
  /// Those that a later version has replaced for as long. One that is pinned stays; a clock that was set back keeps all.
  ///
  /// - Parameter records: the versions of any products.
  package static func due(
    in records: [LibraryRecord], after time: Duration, at now: Timestamp
  ) -> [LibraryRecord] {
    records.filter { record in
      guard !record.isPinned, let since = replaced(record, by: records) else { return false }
      return now - since >= time
    }
  }

  /// Since when a later version is read in place of it; nil where none is.
  package static func replaced(_ record: LibraryRecord, by records: [LibraryRecord]) -> Timestamp? {
    records.filter { other in
      other.product == record.product && other.version > record.version && !other.isDamaged && !other.isLeft
    }.map(\.placedAt).min()
  }

  /// The version that is read once the way has gone back, or on. Throws `version-unknown` for one that is not among the records,
  /// `state-conflict` for one that is damaged or that the server has taken back, and where there is none before the one that is read.
  ///
  /// - Parameter records: the versions of one product.
  package static func target(
    among records: [LibraryRecord], named version: ContentVersion?
  ) throws(Problem) -> ContentVersion {
    guard let version else {
      let read = records.filter { !$0.isLeft }.map(\.version).max() ?? records.map(\.version).max()
      let earlier = records.filter { record in
        !record.isDamaged && !record.isRolledBack && read.map { record.version < $0 } == true
      }.map(\.version).max()
      guard let earlier else {
        throw Problem(.stateConflict, "there is no whole earlier version on this device")
      }
      return earlier
    }
    guard let record = records.first(where: { $0.version == version }) else {
      throw Problem(.versionUnknown, "the library holds no version \(version) of it")
    }
    guard !record.isDamaged, !record.isRolledBack else {
      throw Problem(
        .stateConflict, "\(version) is \(record.isDamaged ? "damaged" : "one that the server has taken back")"
      )
    }
    return version
  }
}
