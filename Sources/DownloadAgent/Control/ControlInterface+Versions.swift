import Commerce
import ContentLibrary
import CoreTypes
import HTTPServer
import PullboxAPI
import PullboxAPIServer

extension ControlInterface {
  /// Adds the routes by which a program keeps a version open, and a reader goes back to an earlier one.
  func addVersions(to routes: inout APIRoutes) {
    routes.on(.post, "/v1/library/{product}/leases") { request, parameters in
      let wanted = try await request.decodeIfPresent(LibraryVersionRequest.self, upTo: Self.maximumBody)
      return try await lease(try Self.product(parameters), wanted?.version)
    }
    routes.on(.post, "/v1/library/{product}/rollback") { request, parameters in
      let product = try Self.product(parameters)
      let wanted = try await request.decodeIfPresent(LibraryVersionRequest.self, upTo: Self.maximumBody)
      let found = try await Self.online { try await library.goBack(product, to: wanted?.version) }
      guard let items = found else { throw try await unknown(product) }
      for item in items { hub.publish(.library(LibraryEvent(change: .changed, item: item))) }
      return try .json(LibraryResponse(items: items))
    }
  }

  /// A stream whose first line is the item that the lease keeps; empty lines show both sides that the other is there. The lease ends with the
  /// connection, and with the agent. Throws `library-item-unknown`, and `version-unknown` for a version that is not here.
  private func lease(_ product: ProductIdentifier, _ version: ContentVersion?) async throws -> HTTPResponse {
    let taken = try await Self.online { try await library.lease(product, version) }
    guard let (item, lease, end) = taken else {
      guard let version, try await library.items().contains(where: { $0.product == product }) else {
        throw try await unknown(product)
      }
      throw Problem(.versionUnknown, "the library holds no version \(version) of it")
    }
    let first = try APIJSON.encode(item) + Array("\n".utf8)
    let held = HeldLease(lease, of: library.leases)
    return HTTPResponse(
      status: .ok,
      headers: [
        "Content-Type": LibraryItem.leaseMediaType, "Cache-Control": "no-store", "X-Accel-Buffering": "no",
      ],
      body: .stream { writer in
        defer { held.end() }
        try await writer.write(first)
        try await withThrowingTaskGroup(of: Void.self) { group in
          group.addTask {
            while true {
              try await clock.sleep(for: heartbeat)
              try await writer.write(Array("\n".utf8))
            }
          }
          group.addTask { for await _ in end {} }
          defer { group.cancelAll() }
          // Whichever side ends it.
          try await group.next()
        }
      })
  }
}

/// A lease that ends with its answer, also with one that is never sent.
private final class HeldLease: Sendable {
  private let lease: LibraryLeases.Lease
  private let leases: LibraryLeases

  init(_ lease: LibraryLeases.Lease, of leases: LibraryLeases) {
    self.lease = lease
    self.leases = leases
  }

  func end() { leases.end(lease) }

  deinit { leases.end(lease) }
}
