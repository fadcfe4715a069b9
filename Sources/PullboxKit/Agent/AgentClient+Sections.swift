public import Commerce
public import PullboxAPI
public import PullboxAPIClient

extension AgentClient {
  /// The parts of the product's content that are fetched and given up by themselves, of the version that is read; none for content that is one
  /// whole. Throws `library-item-unknown`, and `library-offline` while the library's volume is not there.
  public func sections(of product: ProductIdentifier) async throws(APICallError) -> ContentSections {
    try await api.get("/v1/library/\(product)/sections", as: ContentSections.self)
  }

  /// Asks for a section, which stays wanted also of later versions. Answers it with the download that brings it; without one where it is here.
  /// Throws as ``sections(of:)`` does, `section-unknown`, and `purchase-required` for content that is not owned any more.
  @discardableResult
  public func fetch(
    _ section: SectionTag, of product: ProductIdentifier
  ) async throws(APICallError) -> ContentSection {
    try await api.call(
      "PUT", "/v1/library/\(product)/sections/\(section)", body: EmptyBody(), as: ContentSection.self
    ).value
  }

  /// Removes the files of a section, and keeps it away until it is asked for again. Throws as ``fetch(_:of:)`` does, and `section-required` for one
  /// that the content is not read without.
  public func drop(_ section: SectionTag, of product: ProductIdentifier) async throws(APICallError) {
    _ = try await api.exchange("DELETE", "/v1/library/\(product)/sections/\(section)")
  }
}
