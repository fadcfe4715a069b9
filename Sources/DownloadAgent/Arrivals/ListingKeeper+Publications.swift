import AgentRecords
import Commerce
import ContentLibrary
import CoreTypes
import PullboxAPI
import PullboxAPIClient

/// The titles of the publications that listings name, for the shelves of the device's catalog.
extension ListingKeeper {
  /// Asks for the titles that are not known. A publication of which the server knows nothing has no title, and is asked about with the
  /// next arrival. Throws the first failure without an answer of the server's.
  func keepPublications() async throws {
    for publication in library.listings.publications(withoutTitleIn: locale) {
      do {
        guard let title = try await title(of: publication) else { continue }
        try await library.keep(KeptPublication(title: title, locale: locale), ofPublication: publication)
      } catch {
        try Task.checkCancellation()
        guard Self.isRefusal(error) else { throw error }
      }
    }
  }

  /// The title in the reader's language, on one line; nil where there is none.
  private func title(of publication: ProductIdentifier) async throws -> String? {
    let told = try await server.publication(publication, for: try await store.account(), locale: locale)
    return told.flatMap { KeptListing.title($0.title) }
  }
}
