package import CoreTypes

/// A place in the list of uploads, which stays when the upload that was there has gone: `<created>-<id>`.
package struct UploadCursor: Hashable, Sendable, LosslessStringConvertible {
  /// When the upload before that place began.
  package var created: Timestamp
  /// The identifier of that upload.
  package var id: String

  /// The place behind the upload of that moment and name.
  package init(created: Timestamp, id: String) {
    self.created = created
    self.id = id
  }

  /// Nil for other texts than ``description``.
  package init?(_ text: String) {
    let parts = text.split(separator: "-", maxSplits: 1)
    guard parts.count == 2, let created = Int64(parts[0]), created >= 0 else { return nil }
    self.init(created: Timestamp(millisecondsSinceEpoch: created), id: String(parts[1]))
  }

  /// The text that the `next` of a page has: milliseconds since the epoch, a hyphen and the identifier.
  package var description: String { "\(created.millisecondsSinceEpoch)-\(id)" }
}
