import AgentRecords
import Commerce
import ContentLibrary
import CoreTypes
import Files
import HTTPServer
import PullboxAPI
import PullboxAPIServer
import ServiceRuntime
import SystemCalls

extension ControlInterface {
  /// Adds the routes of the library. A product that it does not hold is `library-item-unknown`, with the
  /// nearest that it does hold.
  func addLibrary(to routes: inout APIRoutes) {
    routes.on(.get, "/v1/library") { _, _ in
      try .json(LibraryResponse(items: await library.items()))
    }
    routes.on(.delete, "/v1/library/{product}") { _, parameters in
      let product = try Self.product(parameters)
      // One that looked for its content after the removal would fetch it again.
      let unreported = await downloads.unreported(of: product) + downloads.sectionsUnderWay(of: product)
      let removed = try await Self.online { try await library.remove(product) }
      guard !removed.isEmpty else { throw try await unknown(product) }
      await downloads.contentRemoved(of: unreported)
      for item in removed { hub.publish(.library(LibraryEvent(change: .removed, item: item))) }
      return HTTPResponse(status: .noContent)
    }
    routes.on(.post, "/v1/library/{product}/verify") { _, parameters in
      let items = try await verify(try Self.product(parameters))
      return try .json(LibraryVerificationResponse(items: items))
    }
    routes.on(.post, "/v1/library/{product}/repair") { _, parameters in
      let product = try Self.product(parameters)
      guard try await needsDownload(product) else {
        return try .json(LibraryRepairResponse(downloads: []))
      }
      let begun = try await transactions.refetch(product)
      var answer = await downloads.unfinished(of: product)
      // A short one may be over by now.
      if let begun, !answer.contains(where: { $0.id == begun }) {
        answer.append(try await downloads.status(begun))
      }
      return try .json(LibraryRepairResponse(downloads: answer), status: .accepted)
    }
    for (name, isPinned) in [("pin", true), ("unpin", false)] {
      routes.on(.post, "/v1/library/{product}/\(name)") { _, parameters in
        try .json(LibraryResponse(items: try await pin(try Self.product(parameters), isPinned)))
      }
    }
    routes.on(.post, "/v1/library/{product}/opened") { _, parameters in
      try .json(LibraryResponse(items: try await noteOpened(try Self.product(parameters))))
    }
  }

  /// Keeps the product's content from being removed to make room, or no longer, and answers its items. Throws `library-item-unknown` and
  /// `library-offline`.
  func pin(_ product: ProductIdentifier, _ isPinned: Bool) async throws -> [LibraryItem] {
    try await change(product) { try await library.setPinned(isPinned, $0) }
  }

  /// Notes that the product is opened now, and answers its items. Throws `library-item-unknown` and `library-offline`.
  func noteOpened(_ product: ProductIdentifier) async throws -> [LibraryItem] {
    try await change(product) { try await library.noteOpened($0) }
  }

  /// Answers the product's items behind a change, which is false where there are none. Each item is
  /// published, also where nothing of it is different.
  private func change(
    _ product: ProductIdentifier, _ body: (ProductIdentifier) async throws -> Bool
  ) async throws -> [LibraryItem] {
    guard try await Self.online({ try await body(product) }) else { throw try await unknown(product) }
    let items = try await items(of: product)
    for item in items { hub.publish(.library(LibraryEvent(change: .changed, item: item))) }
    return items
  }

  /// Whether something of the product is damaged that a download fixes. A grant names one version only: a damaged one that
  /// a whole one replaces cannot be fetched any more, and is removed.
  private func needsDownload(_ product: ProductIdentifier) async throws -> Bool {
    let found = try await verify(product)
    guard found.contains(where: { $0.state == .damaged }) else { return false }
    let owned = try await transactions.owned().filter { $0.product == product }.map(\.version)
    let replaced = found.filter { item in
      item.state == .damaged && !owned.contains(item.version)
        && found.contains {
          $0.state == .present && ($0.version > item.version || owned.contains($0.version))
        }
    }
    .map(\.version)
    let removed = try await Self.online { try await library.remove(product, replaced) }
    for item in removed { hub.publish(.library(LibraryEvent(change: .removed, item: item))) }
    return found.contains { $0.state == .damaged && !replaced.contains($0.version) }
  }

  /// Checks every byte of the product's content, and tells observers what changed by that. Throws
  /// `library-item-unknown` where there is nothing of it, and `library-offline`.
  private func verify(_ product: ProductIdentifier) async throws -> [LibraryVerification] {
    let before = try await items(of: product)
    let found = try await Self.online { try await library.verify(product) }
    guard !found.isEmpty else { throw try await unknown(product) }
    for item in try await items(of: product)
    where before.contains(where: { $0.version == item.version && $0.state != item.state }) {
      hub.publish(.library(LibraryEvent(change: .changed, item: item)))
    }
    return found
  }

  /// The product's items in the order of the library.
  private func items(of product: ProductIdentifier) async throws -> [LibraryItem] {
    try await library.items().filter { $0.product == product }
  }

  /// Returns the library's part of `status`. Offline it has no free space, and the length of its records.
  func libraryStatus() async throws -> (state: LibraryItem.State, free: ByteCount, length: ByteCount) {
    let items = try await library.items()
    let length = items.reduce(ByteCount.zero) { $0 + ($1.lengthOnDisk ?? .zero) }
    guard library.availability == .online else { return (.offline, .zero, length) }
    let free = try await BlockingPool.shared.run { () throws(SystemError) in
      try FileSystem.freeSpace(at: library.paths.library)
    }
    return (items.contains { $0.state == .damaged } ? .damaged : .present, free, length)
  }

  /// The product of the path. Throws `library-item-unknown` for a text that cannot be one.
  static func product(_ parameters: PathParameters) throws(Problem) -> ProductIdentifier {
    guard let product = ProductIdentifier(parameters["product"]) else {
      throw Problem(.libraryItemUnknown, "that is no product's identifier")
    }
    return product
  }

  /// The problem for a product that the library does not hold; it names the nearest one where that is near.
  func unknown(_ product: ProductIdentifier) async throws -> Problem {
    let nearest = EditDistance.nearest(
      to: product.description, among: Set(try await library.items().map(\.product)).sorted())
    return Problem(
      .libraryItemUnknown,
      "the library does not hold \(product)" + (nearest.map { "; did you mean \($0)?" } ?? ""))
  }

  /// Turns ``LibraryOfflineError`` into `library-offline`.
  static func online<Value: Sendable>(_ body: () async throws -> Value) async throws -> Value {
    do {
      return try await body()
    } catch let error as LibraryOfflineError {
      throw Problem(.libraryOffline, error.reason)
    }
  }
}
