import Commerce
import PullboxAPI
import PullboxTesting
import ServiceAPI
import Testing

/// The words of enumerations, and bounds, as the pages tell them.
@Suite("Words and bounds of the pages")
struct DocumentedWordsTests {
  private func words<Value: RawRepresentable & CaseIterable>(_ type: Value.Type) -> [String]
  where Value.RawValue == String { type.allCases.map(\.rawValue) }

  /// A page with a space for each line's end.
  private func page(_ name: String) throws -> String {
    try RepositoryFile("docs/\(name)").text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
  }

  @Test("tables list the words of an enumeration, each and no other")
  func tables() throws {
    let kinds = try DocumentedTable("delivery.md", header: "| `kind` |").words
    #expect(kinds.sorted() == words(FeedEntry.Kind.self).sorted())
    let reasons = try DocumentedTable("catalogue.md", header: "| counted as |").words
    #expect(reasons.sorted() == words(InvalidProductsReport.Reason.self).sorted())
    let states = try DocumentedTable("agent.md", header: "| state | reason |").words
    #expect(states.sorted() == words(DownloadStatus.State.self).sorted())
    let members = try DocumentedTable("catalogue.md", header: "| member | says |").rows
    let types = try #require(members.first { $0[0] == "`type`" })
    #expect(DocumentedTable.words(types[1]) == words(ProductType.self))
  }

  @Test("so do sentences")
  func sentences() throws {
    let agent = try page("agent.md")
    let catalog = try page("catalogue.md")
    func listed(_ words: [String], before last: String) -> String {
      words.dropLast().map { "`\($0)`" }.joined(separator: ", ") + " \(last) `\(words.last ?? "")`"
    }
    #expect(agent.contains("`kind` is \(listed(words(CodePreview.Kind.self), before: "or"))"))
    #expect(agent.contains("`payment` is \(listed(words(StoreOffer.Payment.self), before: "or"))"))
    #expect(catalog.contains("`--by \(words(SalesReport.Dimension.self).joined(separator: ","))`"))
    for order in words(AgentRestoreRequest.Order.self) { #expect(agent.contains("`\(order)`")) }
    for reason in words(ProductOwnership.UnverifiedReason.self) { #expect(agent.contains("`\(reason)`")) }
    for state in words(LibraryItem.State.self) { #expect(agent.contains("`\(state)`")) }
  }

  @Test("a kind that the feed's table does not have is passed on, and known to no one")
  func laterKinds() throws {
    for kind in words(FeedEntry.Kind.self) + ["moon-phase", "", "Revoked"] {
      let text = #"{"kind":"\#(kind)","product":"a","transaction":"1"}"#
      let entry = try APIJSON.decode(FeedEntry.self, from: Array(text.utf8))
      #expect(entry.known?.rawValue == (words(FeedEntry.Kind.self).contains(kind) ? kind : nil), "\(kind)")
      #expect(String(decoding: try APIJSON.encode(entry), as: UTF8.self) == text)
    }
  }

  // MARK: Bounds

  private func number(_ schema: YAMLDocument?, _ key: String) throws -> Int64 {
    try #require(schema?[key]?.text.flatMap { Int64($0) }, "\(key)")
  }

  @Test("lists have the bounds of docs/openapi.yaml")
  func lists() throws {
    let schemas = try #require(try OpenAPIDocument().root["components"]?["schemas"])
    func property(_ schema: String, _ name: String) -> YAMLDocument? { schemas[schema]?["properties"]?[name] }
    for schema in ["ProofList", "GrantRequest", "GrantBatchRequest", "EntitlementsRequest"] {
      let proofs = property(schema, "proofs")
      #expect(try number(proofs, "minItems") == Int64(ProofList.counts.lowerBound), "\(schema)")
      #expect(try number(proofs, "maxItems") == Int64(ProofList.counts.upperBound), "\(schema)")
    }
    let products = property("GrantBatchRequest", "products")
    #expect(try number(products, "minItems") == Int64(GrantBatchRequest.productCounts.lowerBound))
    #expect(try number(products, "maxItems") == Int64(GrantBatchRequest.productCounts.upperBound))
    let items = property("CatalogImport", "products")
    #expect(try number(items, "maxItems") == Int64(CatalogImport.maximumItems))
    let members = property("CatalogImport", "members")
    #expect(try number(members, "maxItems") == Int64(CatalogImport.maximumMembers))
    let rows = property("SalesReport", "rows")
    #expect(try number(rows, "maxItems") == Int64(SalesReport.maximumRows))
  }

  @Test("the addresses of the diagnostics are documented, with the longest body and the longest pause")
  func diagnostics() throws {
    let document = try OpenAPIDocument()
    for path in [DiagnosticContent.reportPath, DiagnosticContent.path, DiagnosticContent.filePath] {
      #expect(document.operations.contains { $0.path == path && $0.method == "GET" }, "\(path)")
    }
    let body = try #require(document.operations.first { $0.path == DiagnosticContent.path })
    func maximum(_ name: String) throws -> Int64 {
      try number(body.parameters.first { $0["name"]?.text == name }?["schema"], "maximum")
    }
    #expect(try maximum("length") == DiagnosticContent.maximumLength)
    #expect(try maximum("pauseAfter") == DiagnosticContent.maximumLength)
    #expect(try maximum("pause") == Int64(DiagnosticContent.maximumPause))
    // "lower case, ascending"
    let fields = DiagnosticReport.reportedFields
    #expect(fields == fields.map { $0.lowercased() }.sorted() && Set(fields).count == fields.count)
  }

  @Test("the pages tell the other bounds")
  func sentencesOfBounds() throws {
    let priorities = AgentDownloadChange.priorities
    let bounds = [
      ("agent.md", "\(priorities.lowerBound) to \(priorities.upperBound); a higher priority goes first"),
      ("catalogue.md", "at most \(SalesReport.maximumDays); without them the last 31"),
      ("sandbox-store.md", "(up to \(AccountOffersResponse.maximumProducts) of them)"),
      ("delivery.md", "`iat` is in seconds and at most \(DeviceProof.tolerance.components.seconds) away"),
      ("delivery.md", "`Authorization: \(DeviceProof.scheme) <JWS>`"),
    ]
    for (page, text) in bounds {
      #expect(try self.page(page).contains(text), "\(page): \(text)")
    }
  }

  @Test("what a device signs is the example of the page, byte by byte")
  func deviceProof() throws {
    let lines = try RepositoryFile("docs/delivery.md").text.split(separator: "\n")
    let example = try #require(lines.first { $0.hasPrefix(#"{"iat":"#) })
    let proof = try APIJSON.decode(DeviceProof.self, from: Array(example.utf8))
    #expect(proof.iat == 1_795_249_800 && proof.method == "POST")
    #expect(String(decoding: try APIJSON.encode(proof), as: UTF8.self) == example)
  }
}
