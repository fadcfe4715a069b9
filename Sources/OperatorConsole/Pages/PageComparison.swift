import CoreTypes
import Crypto
import PullboxAPI
import ServiceAPI

/// The pages of two versions, page by page, by their paths, and those that moved to another path by their bytes. Pure.
struct PageComparison: Sendable {
  /// The difference of a page between the two versions.
  enum Change: Sendable, Hashable {
    case same, changed, added, removed
  }

  /// One page of either version, or of both.
  struct Row: Sendable, Hashable {
    var old: VersionPages.Page?
    var new: VersionPages.Page?

    var change: Change {
      switch (old, new) {
      case (let old?, let new?): old.content == new.content ? .same : .changed
      case (nil, _): .added
      case (_, nil): .removed
      }
    }
  }

  /// In the order of the new version; behind them the pages that only the old one has.
  let rows: [Row]

  init(from old: [VersionPages.Page], to new: [VersionPages.Page]) {
    let byPath = Dictionary(old.map { ($0.path, $0) }, uniquingKeysWith: { first, _ in first })
    var rest = Set(old.map(\.number))
    var rows = new.map { page in
      let partner = byPath[page.path]
      if let partner { rest.remove(partner.number) }
      return Row(old: partner, new: page)
    }
    // What has another name and the same bytes is the same page.
    var byContent = Dictionary(
      old.filter { rest.contains($0.number) }.map { ($0.content, $0) },
      uniquingKeysWith: { first, _ in first }
    )
    for (index, row) in rows.enumerated() where row.old == nil {
      guard let content = row.new?.content, let partner = byContent.removeValue(forKey: content) else {
        continue
      }
      rows[index].old = partner
      rest.remove(partner.number)
    }
    self.rows = rows + old.filter { rest.contains($0.number) }.map { Row(old: $0, new: nil) }
  }

  /// How many rows have that change.
  func count(_ change: Change) -> Int { rows.count { $0.change == change } }
}

extension PageComparison.Change {
  var phrase: Phrase {
    switch self {
    case .same: .pageSame
    case .changed: .pageChanged
    case .added: .pageAdded
    case .removed: .pageRemoved
    }
  }

  var look: Look {
    switch self {
    case .same: .good
    case .changed, .added: .waiting
    case .removed: .bad
    }
  }
}

extension VersionPages.Page {
  /// The word by which equal pages are known. Those of a folder and of an archive have different ones.
  fileprivate var content: String { digest?.hexadecimal ?? "\(checksum ?? "") \(length.rawValue)" }
}
