import AgentRecords
import CoreTypes
import HTTPServer
import LibraryCatalog
import PullboxAPI
import PullboxAPIServer
import SystemCalls

extension ControlInterface {
  /// Adds the routes by which readers tell and ask how far a product was read: the records of the device's catalog.
  func addReading(to routes: inout APIRoutes) {
    let path = "/v1/library/{product}/progress"
    routes.on(.get, path) { _, parameters in
      let content = try await readable(parameters)
      return try Self.answer(content, try await reading.progress(of: content))
    }
    routes.on(.put, path) { request, parameters in
      let report = try await request.decodeOnce(ReadingReport.self, upTo: ReadingProgress.maximumLength)
      let content = try await readable(parameters)
      let now = wallClock.now()
      let told = ReadingProgress(
        modified: report.modified ?? now,
        device: report.device ?? ReadingProgress.Device(id: "\(identity.identifier)"), page: report.page,
        locator: report.locator, progression: report.progression)
      return try Self.answer(
        content, try await reading.put(told, of: content, at: now, where: .none))
    }
  }

  private static func answer(
    _ content: ReadingShelf.Content, _ progress: ReadingProgress?
  ) throws -> HTTPResponse {
    try .json(
      ReadingResponse(version: content.item.version, pages: content.pages?.count, progress: progress))
  }

  private func readable(_ parameters: PathParameters) async throws -> ReadingShelf.Content {
    let product = try Self.product(parameters)
    guard let content = try await reading.content(of: product) else { throw try await unknown(product) }
    return content
  }
}
