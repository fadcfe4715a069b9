import AgentRecords
import CatalogDocuments
package import Commerce
package import ContentLibrary
import ContentPackage
package import CoreTypes
package import PullboxAPI
package import PullboxAPIServer
import ServiceRuntime
import SystemCalls

/// How far products were read, for all programs of this device: by the catalog and by the control interface alike. The later of two
/// words about a product stays, and of two of one time that of the device whose name comes behind.
///
///     let content = try await shelf.content(of: item)
///     let standing = try await shelf.put(told, of: content, by: clock.now())
package struct ReadingShelf: Sendable {
  /// Products whose words feeds know: those that were read last.
  static let maximumListed = 2_000

  /// The version of a product that is read now.
  package struct Content: Sendable {
    package let item: LibraryItem
    /// The names of its pages, in their order; nil where it has none that are sent one by one.
    package let pages: [String]?
  }

  /// How words go to the customer's other devices and come from them.
  package struct Sharing: Sendable {
    /// A product was read on.
    var note: @Sendable () -> Void
    /// Brings what other devices have told of a product whose version here is this one, if that comes soon.
    var refresh: @Sendable (ProductIdentifier, ContentVersion) async -> Void

    package init(
      note: @escaping @Sendable () -> Void = {},
      refresh: @escaping @Sendable (ProductIdentifier, ContentVersion) async -> Void = { _, _ in }
    ) {
      self.note = note
      self.refresh = refresh
    }
  }

  private let library: Library
  private let sharing: Sharing
  let files: PlacedFiles
  let pages: PlacedPagesCache

  package init(library: Library, sharing: Sharing = Sharing()) {
    self.library = library
    self.sharing = sharing
    files = PlacedFiles(library: library)
    pages = PlacedPagesCache()
  }

  /// Finds the version that is read now; nil where nothing is here that can be. Throws `library-offline`, and `content-damaged` for an archive
  /// whose directory cannot be read.
  package func content(of product: ProductIdentifier) async throws -> Content? {
    let items = try await library.items().filter { !library.isTakenBack($0) }
    guard let item = items.current(of: product) else { return nil }
    return try await content(of: item)
  }

  /// The same of a version that the library holds; nil where it has no manifest.
  func content(of item: LibraryItem) async throws -> Content? {
    let manifest = try await PlacedFiles.online {
      try await library.manifest(of: item.product, version: item.version)
    }
    guard let manifest else { return nil }
    let found = try await pages.pages(of: manifest, in: files)
    return Content(item: item, pages: found?.pages.map(\.picture.name))
  }

  /// The last word about the product, of any of the customer's devices, for what is read of it now; nil where it was not read. Throws what the database throws.
  package func progress(of content: Content) async throws -> ReadingProgress? {
    let (database, product) = (library.database, content.item.product)
    await sharing.refresh(product, content.item.version)
    let record = try await BlockingPool.shared.run { try database.reading(of: product) }
    return record?.carried(to: content.item.version, pages: content.pages)
  }

  /// Takes in what a program tells, and returns what counts from then on. Throws `request-malformed` for what cannot be of that content, and
  /// `precondition-failed`.
  ///
  /// - Parameters:
  ///   - now: a word of a time to come is taken for now.
  ///   - conditions: held against what counted before.
  ///   - shown: makes of that what programs are shown, whose tags conditions name.
  package func put(
    _ told: ReadingProgress, of content: Content, at now: Timestamp, where conditions: WriteConditions,
    shown: @escaping @Sendable (ReadingProgress) -> ReadingProgress = { $0 }
  ) async throws -> ReadingProgress {
    let kept = try told.kept(at: now, of: content.pages?.count)
    let (item, names, database) = (content.item, content.pages, library.database)
    let record = ReadingRecord(
      product: item.product, progress: kept, version: item.version,
      pageName: kept.page.flatMap { page in names.flatMap { $0.indices.contains(page) ? $0[page] : nil } })
    let standing = try await BlockingPool.shared.run {
      try database.put(record) { before in
        try conditions.check(before.map { shown($0.carried(to: item.version, pages: names)) })
      }
    }
    sharing.note()
    return standing.carried(to: item.version, pages: names)
  }

  /// The last words about products, the latest first. Throws what the database throws.
  func all() async throws -> [ReadingRecord] {
    let database = library.database
    return try await BlockingPool.shared.run { try database.readings(limit: Self.maximumListed) }
  }

  /// The last words about these, for the versions that the library shows.
  func marks(
    of items: [LibraryItem], among records: [ReadingRecord]
  ) async throws -> [ProductIdentifier: ReadingProgress] {
    let known = Dictionary(records.map { ($0.product, $0) }, uniquingKeysWith: { first, _ in first })
    var marks: [ProductIdentifier: ReadingProgress] = [:]
    for item in items {
      guard let record = known[item.product] else { continue }
      // Names are needed for another version alone; what is damaged has none.
      var names: [String]?
      if record.version != item.version {
        do {
          names = try await content(of: item)?.pages
        } catch let problem as Problem where problem.code == .contentDamaged {
          names = nil
        }
      }
      marks[item.product] = record.carried(to: item.version, pages: names)
    }
    return marks
  }
}
