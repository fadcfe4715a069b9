import DeliveryModel
import HTTPServer
import Monitoring
import PullboxAPI
import PullboxTesting
import ServiceAPI
import Testing

@testable import ContentDelivery
@testable import ContentPublishing
@testable import DeliveryRecords
@testable import DeliveryService
@testable import RouteAccess

@Suite("Routes and docs/openapi.yaml")
struct OpenAPIRouteTests {
  private let document: OpenAPIDocument
  private let declarations: [ScopedRoutes.Declaration]

  init() throws {
    document = try OpenAPIDocument()
    declarations = try RouteScopeTests.declarations().filter { declaration in
      // The uploads' protocols refuse other methods by themselves.
      guard declaration.pattern.hasPrefix(UploadRoutes.path) else { return true }
      let isUpload = declaration.pattern.hasSuffix("{id}")
      return UploadRoutes.allowed(isUpload: isUpload).contains(declaration.method)
    }
  }

  /// Each declared route with its operation. GET answers HEAD, and the list of uploads is no exception.
  private func pairs() -> [(declaration: ScopedRoutes.Declaration, operation: OpenAPIDocument.Operation)] {
    declarations.compactMap { declaration in
      document.operations.first {
        $0.method == declaration.method.rawValue && $0.path == declaration.pattern
      }.map { (declaration, $0) }
    }
  }

  @Test("every route is documented, and no other")
  func routes() {
    let declared = declarations.map { "\($0.method.rawValue) \($0.pattern)" }
      .filter { $0 != "HEAD \(UploadRoutes.path)" }
    // The route of the content answers this address as well.
    let metalink = "GET \(ContentRoutes.pattern).meta4"
    let documented = document.operations.map { "\($0.method) \($0.path)" }
    #expect(documented.count > 40)
    #expect((declared + [metalink]).sorted() == documented.sorted())
  }

  @Test("each operation names the scope that its route needs, and routes without a key name none")
  func scopes() {
    for (declaration, operation) in pairs() {
      let security = operation.value["security"]?.items ?? []
      let scopes = security.flatMap { $0["operatorKey"]?.texts ?? [] }
      switch declaration.access {
      case .open: #expect(scopes == [], "\(operation.path)")
      case .key(let scope): #expect(scopes == [scope.rawValue], "\(operation.method) \(operation.path)")
      case .byRequest(let possible):
        #expect(
          declaration.method == .options || possible.map(\.rawValue).contains(scopes.first ?? ""),
          "\(operation.method) \(operation.path)")
      }
    }
  }

  @Test("parameters of the query are documented where they are read, and no others")
  func queries() {
    var checked = 0
    for (declaration, operation) in pairs() {
      guard let query = declaration.query else { continue }
      checked += 1
      #expect(operation.parameters(in: "query") == query, "\(operation.method) \(operation.path)")
    }
    #expect(checked > 25)
  }

  @Test("an operation has the parameters of its path, a key for repetitions where its route takes one")
  func otherParameters() {
    for (declaration, operation) in pairs() {
      let inPath = declaration.pattern.split(separator: "/").filter { $0.hasPrefix("{") }
        .map { String($0.dropFirst().dropLast()) }
      #expect(operation.parameters(in: "path") == Set(inPath))
      let takesKey = operation.parameters(in: "header").contains(IdempotencyKey.field)
      let isCreation = operation.method == "POST" && operation.path == UploadRoutes.path
      #expect(takesKey == (declaration.takesIdempotencyKey || isCreation), "\(operation.path)")
      #expect(takesKey == operation.problemCodes.contains("idempotency-key-reused"), "\(operation.path)")
    }
  }

  @Test(
    "an operation answers the statuses of its problem codes, which are codes of the list, and no other refusals"
  )
  func problemCodes() throws {
    let common = document.commonProblemCodes
    for operation in document.operations {
      let codes = operation.problemCodes
      #expect(operation.value["x-problem-codes"] != nil)
      var statuses: Set<Int> = [400, 405, 429, 503]
      for code in codes.union(common) {
        let known = try #require(ProblemCode(type: ProblemCode.typePrefix + code), "\(code)")
        if codes.contains(code) { statuses.insert(known.status) }
      }
      // A file's own answers have no document.
      let refused = operation.statuses.filter { $0 >= 400 }
      let bare = (operation.value["responses"]?.members ?? [])
        .filter { $0.value["content"] == nil && $0.value["$ref"] == nil }.compactMap { Int($0.key) }
      #expect(refused == statuses.union(bare.filter { $0 >= 400 }), "\(operation.method) \(operation.path)")
      let needsKey = operation.value["security"]?.items.contains { $0["operatorKey"] != nil } ?? false
      let needsToken = operation.value["security"]?.items.contains { $0["feedToken"] != nil } ?? false
      let takesReader = operation.value["security"]?.items.contains { $0["readerKey"] != nil } ?? false
      #expect((needsKey || needsToken || takesReader) == codes.contains("unauthorized"), "\(operation.path)")
    }
  }

  @Test("every reference leads somewhere, and every component is referred to")
  func references() {
    let references = document.references
    for reference in references {
      #expect(document.target(of: reference) != nil, "\(reference)")
    }
    let components = (document.root["components"]?.members ?? []).filter { $0.key != "securitySchemes" }
    let names = components.flatMap { kind in
      kind.value.members.map { "#/components/\(kind.key)/\($0.key)" }
    }
    #expect(names.count > 80)
    // The document that a device signs, the data of an event, what is signed, and the members that stand beside others in three requests.
    let apart = Set(
      ["DeviceProof", "FeedOpening", "License", "ProofList"].map { "#/components/schemas/\($0)" })
    #expect(Set(names).subtracting(references) == apart)
  }

  @Test("operations have names of their own, and say what they are for")
  func names() {
    let names = document.operations.compactMap { $0.value["operationId"]?.text }
    #expect(names.count == document.operations.count)
    #expect(Set(names).count == names.count)
    #expect(document.operations.allSatisfy { $0.value["summary"]?.text?.isEmpty == false })
  }
}

/// Whether what a server answered while a test ran is what docs/openapi.yaml says it may answer.
struct ContractObservation {
  private static let document: Result<OpenAPIDocument, any Error> = Result { try OpenAPIDocument() }

  /// Refusals and statuses that are not documented for their route, each in a sentence.
  static func surprises(in metrics: RouteMetrics) throws -> [String] {
    let document = try document.get()
    func operations(_ route: String) -> [OpenAPIDocument.Operation] {
      document.operations.filter {
        $0.path == route || (route == ContentRoutes.pattern && $0.path == route + ".meta4")
      }
    }
    let refusals = metrics.refusals.keys.filter { refusal in
      if document.commonProblemCodes.contains(refusal.code) { return false }
      if refusal.route == "none" { return refusal.code != "not-found" }
      return !operations(refusal.route).contains { $0.problemCodes.contains(refusal.code) }
    }
    // A route's own statuses; 408, 413 and the like are any route's.
    let common = Set(
      document.commonProblemCodes.compactMap { ProblemCode(type: ProblemCode.typePrefix + $0)?.status })
    let statuses = metrics.requests.keys.filter { key in
      // A client that went away first is answered nothing.
      key.route != "none" && key.status != 499 && !common.contains(key.status)
        && !operations(key.route).contains { $0.statuses.contains(key.status) }
    }
    return refusals.map { "\($0.route) refuses \($0.code), which docs/openapi.yaml does not say" }
      + statuses.map { "\($0.route) answers \($0.status), which docs/openapi.yaml does not say" }
  }
}
