import Commerce
import ContentLibrary
import HTTPServer
import PullboxAPI
import PullboxAPIServer

extension ControlInterface {
  /// Adds the routes of sections: those of the version that is read, one that is wanted, one that is given up. A product that the library does
  /// not hold is `library-item-unknown`, a tag that it does not have `section-unknown`.
  func addSections(to routes: inout APIRoutes) {
    routes.on(.get, "/v1/library/{product}/sections") { _, parameters in
      try .json(await sections(of: try Self.product(parameters)))
    }
    routes.on(.put, "/v1/library/{product}/sections/{tag}") { _, parameters in
      let product = try Self.product(parameters)
      let (section, version) = try await section(parameters, of: product)
      guard !section.isHere else {
        try await library.choose(true, section.tag, of: product)
        return try .json(section)
      }
      let begun = try await transactions.refetch(product, section: section.tag, of: version)
      // What a person asked for stays wanted, also of the next version.
      try await library.choose(true, section.tag, of: product)
      var answer = section
      answer.download = begun ?? section.download
      return try .json(answer, status: .accepted)
    }
    routes.on(.delete, "/v1/library/{product}/sections/{tag}") { _, parameters in
      let product = try Self.product(parameters)
      let (section, _) = try await section(parameters, of: product)
      guard section.policy != .required else {
        throw Problem(.sectionRequired, "\(product) is not read without \(section.tag)")
      }
      // From here on what is placed is placed without it.
      try await library.choose(false, section.tag, of: product)
      let underWay = await downloads.drop(section.tag, of: product)
      let changed = try await Self.online { try await library.drop(section.tag, of: product) }
      await downloads.contentRemoved(of: underWay)
      for item in changed { hub.publish(.library(LibraryEvent(change: .changed, item: item))) }
      return HTTPResponse(status: .noContent)
    }
  }

  /// The sections of the product, each with the download that brings it.
  private func sections(of product: ProductIdentifier) async throws -> ContentSections {
    guard var answer = try await Self.online({ try await library.sections(of: product) }) else {
      throw try await unknown(product)
    }
    let downloads = await downloads.sectionDownloads(of: product)
    for index in answer.sections.indices {
      answer.sections[index].download = downloads[answer.sections[index].tag]
    }
    return answer
  }

  /// The section of the path, and the version that it is of.
  private func section(
    _ parameters: PathParameters, of product: ProductIdentifier
  ) async throws -> (ContentSection, ContentVersion) {
    let name = parameters["tag"]
    let answer = try await sections(of: product)
    let known = answer.sections
    guard let section = known.first(where: { $0.tag.description == name }) else {
      let tags = known.map(\.tag.description).joined(separator: ", ")
      throw Problem(
        .sectionUnknown,
        known.isEmpty
          ? "\(product) has no sections" : "\(product) has the sections \(tags), and none of that tag")
    }
    return (section, answer.version)
  }
}
