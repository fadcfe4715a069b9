import Commerce
import CoreTypes
import PullboxAPI
import ServiceRuntime
import SystemCalls

// The cover of what has arrived by itself lies beside its manifests, `PRODUCT/.pullbox/cover.jpg` for example, also before
// there is any content of it.
extension Library {
  /// Keeps what the server said of a product. With `isDue` it is to be asked again.
  func keep(_ listing: KeptListing, of product: ProductIdentifier, isDue: Bool) async throws {
    try await BlockingPool.shared.run { [self] in
      listings[product] = try database.save(listing, of: product, isDue: isDue) ? listing : nil
    }
    if let title = listing.title { titles.noteListed(title, of: product) }
  }

  /// Puts the cover beside the manifests, in place of an earlier one; nil for none. Answers the file's name. Throws
  /// ``LibraryOfflineError`` while the library is away.
  func writeCover(_ picture: CoverPicture?, of product: ProductIdentifier) async throws -> String? {
    try await exclusion.run(product) {
      try await BlockingPool.shared.run { [self] in
        try requireOnline()
        let folder = folder(of: product)
        if let picture {
          try operations.createDirectories(folder)
          try DurableFile.write(
            picture.bytes.span, to: "\(folder)/\(picture.fileName)", operations: operations)
        }
        try removeCovers(of: product, except: picture?.fileName)
        return picture?.fileName
      }
    }
  }

  /// Forgets what was kept of products that neither came nor will; while the library is away, nothing.
  func dropStrayListings() async throws {
    let strays = try await BlockingPool.shared.run { [database] in try database.strayListings() }
    for product in strays {
      try await exclusion.run(product) {
        try await BlockingPool.shared.run { [self] in
          guard try look() == .online else { return }
          try removeCovers(of: product, except: nil)
          try removeIfEmpty(folder(of: product))
          try removeIfEmpty(FileSystem.parent(of: folder(of: product)))
          try forgetListing(of: product)
        }
      }
    }
  }

  func forgetListing(of product: ProductIdentifier) throws {
    guard listings[product] != nil else { return }
    try database.removeListing(of: product)
    listings[product] = nil
  }

  private func removeCovers(of product: ProductIdentifier, except name: String?) throws(SystemError) {
    for format in CoverPicture.Format.allCases {
      let other = "cover.\(format.rawValue)"
      if other != name { try operations.remove("\(folder(of: product))/\(other)") }
    }
  }

  private func removeIfEmpty(_ directory: String) throws(SystemError) {
    guard try operations.status(of: directory)?.kind == .directory, try operations.list(directory).isEmpty
    else { return }
    try operations.removeRecursively(directory)
  }

  /// What the control interface shows of a record.
  func item(_ record: LibraryRecord, isOffline: Bool = false) -> LibraryItem {
    var item = record.item(in: paths.library, isOffline: isOffline)
    let listing = listings[record.product]
    item.productTitle = listing?.title
    item.cover = cover(of: record.product)
    return item
  }

  /// The path of the picture that is kept of a product.
  func cover(of product: ProductIdentifier) -> String? {
    listings[product]?.cover.map { "\(folder(of: product))/\($0)" }
  }
}
