package import PostgreSQLEngine

/// The next steps of a move, decided by the marks of both places: pure. A move that was killed is decided again, and goes on.
///
/// The marks change in this order: the target is `arriving`, the records come, the source has `left`, the target has `arrived`. Up to
/// the third step the source is the good place and no server starts at the target; from then on none starts at the source.
package enum MovePlan: Hashable, Sendable {
  /// Records are copied, in place of what a move that was broken off has left, or of records that were moved to the source earlier.
  case copy
  /// All records have come and the source says so: the target's mark is all that lacks.
  case finish(MoveMark)
  /// The same move was made already.
  case nothing(MoveMark)

  /// A side of a move.
  package struct Side: Hashable, Sendable {
    /// The place, for people; ``MoveMark/other`` of the other side.
    package var name: String
    /// Its mark; nil where there was no move.
    package var mark: MoveMark?
    /// Whether there are records, whatever the mark says of them.
    package var hasRecords: Bool

    package init(name: String, mark: MoveMark?, hasRecords: Bool) {
      self.name = name
      self.mark = mark
      self.hasRecords = hasRecords
    }
  }

  /// Throws ``RecordTransferError``: `elsewhere` where the source's records are not here or not all of them, `notEmpty` where the target
  /// has others.
  package init(from source: Side, to target: Side) throws(RecordTransferError) {
    if source.mark?.state == .left, source.mark?.move == target.mark?.move, let mark = target.mark {
      switch mark.state {
      case .arriving:
        self = .finish(mark)
        return
      case .arrived:
        self = .nothing(mark)
        return
      case .left: break
      }
    }
    if let refusal = source.mark?.refusal {
      throw RecordTransferError(.elsewhere, "\(source.name): \(refusal)")
    }
    guard source.hasRecords else {
      throw RecordTransferError(.elsewhere, "\(source.name) has no records")
    }
    switch target.mark?.state {
    case .arriving:
      guard target.mark?.other == source.name else {
        throw RecordTransferError(
          .notEmpty,
          "\(target.name): a move of records from \(target.mark?.other ?? "") was begun there; complete it, or empty the place"
        )
      }
    case .left:
      // Its records went to the source, and have lived there since.
      guard source.mark?.state == .arrived, source.mark?.move == target.mark?.move else {
        throw RecordTransferError(.notEmpty, "\(target.name): \(target.mark?.refusal ?? "")")
      }
    case .arrived, nil:
      guard !target.hasRecords else {
        throw RecordTransferError(.notEmpty, "\(target.name) is not empty: records come into an empty place")
      }
    }
    self = .copy
  }
}
