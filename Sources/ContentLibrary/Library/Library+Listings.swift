package import AgentRecords
package import Commerce
import CoreTypes
import Files
package import PullboxAPI
import ServiceRuntime
import SystemCalls

// The cover of what has arrived by itself lies beside its manifests, `PRODUCT/.pullbox/cover.jpg` for example, also before
// there is any content of it.
extension Library {
  /// Keeps what the server said of a product. With `isDue` it is to be asked again.
  package func keep(_ listing: KeptListing, of product: ProductIdentifier, isDue: Bool) async throws {
    try await exclusion.run(product) {
      try await BlockingPool.shared.run { [self] in try save(listing, of: product, isDue: isDue) }
    }
  }

  /// Nothing is kept of what was forgotten meanwhile; of what has arrived anew since the server was asked it is asked again.
  private func save(_ listing: KeptListing, of product: ProductIdentifier, isDue: Bool) throws {
    let isKept = try database.save(listing, of: product, isDue: isDue || listings.hasArrived(product))
    listings[product] = isKept ? listing : nil
    if isKept, let title = listing.title { titles.noteListed(title, of: product) }
  }

  /// Keeps the server's title of a publication that listings name.
  package func keep(_ kept: KeptPublication, ofPublication publication: ProductIdentifier) async throws {
    try await BlockingPool.shared.run { [database] in try database.save(kept, of: publication) }
    listings[publication: publication] = kept
  }

  /// Puts the cover of that address beside the manifests, in place of an earlier one; nil for none. What was forgotten meanwhile has
  /// none. Throws what ``requireRoomForCover()`` throws.
  package func keep(
    _ picture: CoverPicture?, at address: String, of product: ProductIdentifier
  ) async throws {
    try await exclusion.run(product) {
      try await BlockingPool.shared.run { [self] in
        try requireRoomForCover()
        guard try database.hasListing(of: product) else { return }
        let folder = folder(of: product)
        if let picture {
          try makeFolders(folder)
          try DurableFile.write(
            picture.bytes.span, to: "\(folder)/\(picture.fileName)", operations: operations)
        }
        var listing = listings[product] ?? KeptListing()
        listing.cover = picture?.fileName
        listing.coverURL = address
        try save(listing, of: product, isDue: false)
        loggingFailure(of: product) { try removeCovers(of: product, except: picture?.fileName) }
      }
    }
  }

  /// Throws ``LibraryOfflineError`` while the library is away, and a failure where a cover would take of the reserve. Blocks.
  package func requireRoomForCover() throws {
    try requireOnline()
    let free = try operations.freeSpace(at: paths.library)
    guard free > space.reserve + CoverPicture.maximumLength else {
      throw StepFailure.retry(
        .insufficientSpace, cause: "\(free) are free, of which \(space.reserve) are kept")
    }
  }

  /// Has the covers asked for that do not lie where they were put: another program removed them, or the agent ended before it wrote
  /// down that it had. False while the library is away.
  package func expectMissingCovers() async throws -> Bool {
    for product in listings.withCover {
      let isOnline = try await exclusion.run(product) {
        try await BlockingPool.shared.run { [self] in
          guard try look() == .online else { return false }
          loggingFailure(of: product) {
            guard var listing = listings[product], let path = cover(of: product),
              try operations.status(of: path) == nil
            else { return }
            listing.cover = nil
            try save(listing, of: product, isDue: true)
          }
          return true
        }
      }
      guard isOnline else { return false }
    }
    return true
  }

  /// Forgets what was kept of products that neither came nor will; while the library is away, nothing. What cannot be removed is
  /// tried again with the next.
  package func dropStrayListings() async throws {
    let strays = try await BlockingPool.shared.run { [database] in try database.strayListings() }
    for product in strays {
      try await exclusion.run(product) {
        try await BlockingPool.shared.run { [self] in
          guard try look() == .online else { return }
          loggingFailure(of: product) { try dropStrayListing(of: product) }
        }
      }
    }
  }

  /// It may come after all at any moment: then it is without a cover until that is asked for.
  private func dropStrayListing(of product: ProductIdentifier) throws {
    guard try database.forgetCover(ofStray: product) else { return }
    listings[product]?.cover = nil
    listings[product]?.coverURL = nil
    try removeCovers(of: product, except: nil)
    try removeIfEmpty(folder(of: product))
    try removeIfEmpty(FileSystem.parent(of: folder(of: product)))
    if try database.removeListing(ofStray: product) { listings[product] = nil }
  }

  /// With the last version. What the news or a download still names keeps its title and its cover.
  func removeFolder(of product: ProductIdentifier) throws {
    let folder = folder(of: product)
    if try database.keepsListing(of: product) {
      if try operations.status(of: folder)?.kind == .directory {
        for entry in try operations.list(folder) where !CoverPicture.isFileName(entry.name) {
          try operations.removeRecursively("\(folder)/\(entry.name)")
        }
      }
      try removeIfEmpty(folder)
    } else {
      try operations.removeRecursively(folder)
      try database.removeListing(of: product)
      listings[product] = nil
    }
    try removeIfEmpty(FileSystem.parent(of: folder))
  }

  /// One product's folder holds up no other's.
  private func loggingFailure(of product: ProductIdentifier, _ body: () throws -> Void) {
    do {
      try body()
    } catch {
      log.warning(
        "what is kept of a product cannot be changed",
        ["product": "\(product)", "error": LogValue(error)])
    }
  }

  /// A cover that is not there is no error.
  private func removeCovers(of product: ProductIdentifier, except name: String?) throws(SystemError) {
    for format in CoverPicture.Format.allCases {
      let other = "cover.\(format.rawValue)"
      if other != name { try operations.remove("\(folder(of: product))/\(other)") }
    }
  }

  /// Leaves alone what is no directory, and one that holds anything.
  private func removeIfEmpty(_ directory: String) throws(SystemError) {
    guard try operations.status(of: directory)?.kind == .directory, try operations.list(directory).isEmpty
    else { return }
    try operations.removeRecursively(directory)
  }

  /// Returns the item of a record as the control interface shows it. Its ownership is nil where the server
  /// never told of the product.
  package func item(_ record: LibraryRecord, isOffline: Bool = false) -> LibraryItem {
    var item = record.item(in: paths.library, isOffline: isOffline)
    let listing = listings[record.product]
    item.productTitle = listing?.title
    item.cover = cover(of: record.product)
    if let known = ownership[record.product] {
      (item.owned, item.because) = (known.isOwned, known.because)
      (item.until, item.ownedAsOf) = (known.until, known.asOf)
    }
    return item
  }

  /// The path of the picture that is kept of a product. Nil without one. Whether the file is there is not
  /// looked at.
  package func cover(of product: ProductIdentifier) -> String? {
    listings[product]?.cover.map { "\(folder(of: product))/\($0)" }
  }
}
