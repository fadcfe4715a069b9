public import Commerce
import ContentPacking
public import CoreTypes
import Crypto
import Files
import PullboxAPI
import PullboxAPIClient
import PullboxKit
import PullboxOperatorKit
import PullboxTesting
import ServiceAPI
import ServiceRuntime
import SystemCalls

/// The publisher's part.
extension TestSession {
  /// A word that is no name of a product or a version, or no price.
  public struct Unreadable: Error, CustomStringConvertible {
    /// The sentence.
    public let description: String
  }

  /// Puts an issue on sale: a folder of these files (`pages/1.jpg`), packed, uploaded, approved and released.
  ///
  /// - Parameters:
  ///   - price: in US dollars, where the account buys; nil for free.
  ///   - publication: the series that it is an issue of; nil for none.
  @discardableResult
  public func publish(
    _ product: String, version: String = "1.0", title: String, price: String? = nil,
    publication: String? = nil, date: Timestamp? = nil, pages: [String: [UInt8]]
  ) async throws -> ProductIdentifier {
    let product = try Self.identifier(product)
    guard let version = ContentVersion(version) else {
      throw Unreadable(description: "\(version) is no version")
    }
    var description = try await self.description(title, price: price, type: nil)
    description.publication = try publication.map(Self.identifier)
    description.publicationDate = date ?? (publication == nil ? nil : now)
    try await server.put(product, description)
    try await release(product, version: version, pages: pages)
    return product
  }

  /// Releases a corrected version of an issue.
  public func correct(
    _ product: ProductIdentifier, version: String, pages: [String: [UInt8]]
  ) async throws {
    guard let version = ContentVersion(version) else {
      throw Unreadable(description: "\(version) is no version")
    }
    try await release(product, version: version, pages: pages)
  }

  /// Puts a subscription to a publication on sale, which renews itself.
  @discardableResult
  public func publishSubscription(
    _ product: String, title: String, price: String, publication: String, period: BillingPeriod = .month
  ) async throws -> ProductIdentifier {
    let product = try Self.identifier(product)
    var description = try await self.description(title, price: price, type: .autoRenewableSubscription)
    description.publication = try Self.identifier(publication)
    description.period = period
    try await server.put(product, description)
    return product
  }

  private func description(
    _ title: String, price: String?, type: ProductType?
  ) async throws -> ProductDescription {
    var description = ProductDescription()
    description.type = type
    description.localizations = ["en-US": Commerce.Product.Localization(title: title, description: "")]
    description.onSale = true
    if let price {
      guard let price = Price(amount: price, currency: "USD") else {
        throw Unreadable(description: "\(price) is no price")
      }
      description.prices = [try await Storefront.current(from: agent).countryCode: price]
    }
    return description
  }

  private func release(
    _ product: ProductIdentifier, version: ContentVersion, pages: [String: [UInt8]]
  ) async throws {
    let work = try TemporaryDirectory()
    let output = work.path("package.zip")
    let manifest = try await BlockingPool.shared.run {
      for (path, bytes) in pages {
        let target = work.path("source/\(path)")
        try FileSystem.createDirectories(FileSystem.parent(of: target))
        try DurableFile.write(bytes.span, to: target, permissions: 0o644, ifPresent: .refuse)
      }
      return try PackageBuilder(product: product, version: version)
        .pack(folder: work.path("source"), to: output).manifest
    }
    let upload = try await server.uploader(resumeFile: nil).upload(
      UploadSource(path: output, length: manifest.length, digest: manifest.digest, name: "package.zip"))
    _ = try await server.createVersion(
      of: product,
      VersionSubmission(
        upload: upload, version: version, manifest: Base64.encode(manifest.canonicalBytes())))
    for step in [ReviewStep.submit, .approve, .release] {
      try await server.perform(step, on: product, version: version)
    }
  }

  private static func identifier(_ text: String) throws -> ProductIdentifier {
    guard let identifier = ProductIdentifier(text) else {
      throw Unreadable(description: "\(text) is no name of a product")
    }
    return identifier
  }
}
