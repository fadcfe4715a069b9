import ContentPackage
import ContentPacking

/// The notes for a publisher about the files that were packed or read: which were left out, and which are unusual.
struct PublicationNotes: Sendable {
  /// Lines of one kind, at most; how many more there are is said.
  private static let maximumLines = 20

  let skipped: [SkippedSource]
  let report: PublicationReport

  /// Descriptions are left out of the notes: they are never packed, and no publisher expects them to be.
  init(_ package: PackedPackage) {
    skipped = package.skipped.filter { $0.reason != .productDescription && $0.reason != .contentInfo }
    report = package.report
  }

  /// In the order of importance, ready to be printed; names go through the console, which shows nothing invisible.
  var lines: [String] {
    Self.bounded(skipped.map { "not packed: \($0.path) (\($0.reason.clause))" })
      + Self.bounded(report.leftOut.map { "no page: \($0.path) (\($0.reason.clause))" })
      + Self.bounded(report.oddities.map { "odd: \($0.path.map { "\($0): " } ?? "")\($0.detail)" })
  }

  /// On standard error, beside the result.
  func note(on console: Console) {
    for line in lines { console.note(line) }
  }

  /// The last line says how many of the kind are left out.
  private static func bounded(_ lines: [String]) -> [String] {
    guard lines.count > maximumLines else { return lines }
    let kind = lines[0].prefix { $0 != ":" }
    return lines.prefix(maximumLines) + ["\(kind): \(lines.count - maximumLines) more"]
  }
}

/// The notes as `inspect --json` prints them. It has all of them, where lines are bounded.
/// docs/command-line.md has its form.
struct PublicationNotesDocument: Encodable {
  /// `reason` is the name of a case, which stays as it is; `detail` is the sentence for people.
  struct LeftOut: Encodable {
    let path: String
    let reason: String
    let detail: String
  }

  struct Odd: Encodable {
    let path: String?
    let detail: String
  }

  let leftOut: [LeftOut]
  let odd: [Odd]

  init(_ notes: PublicationNotes) {
    leftOut = (notes.skipped + notes.report.leftOut).map {
      LeftOut(path: $0.path, reason: $0.reason.rawValue, detail: $0.reason.clause)
    }
    odd = notes.report.oddities.map { Odd(path: $0.path, detail: $0.detail) }
  }
}
