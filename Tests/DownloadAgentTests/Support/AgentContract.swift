import HTTPClient
import PullboxAPI
import PullboxTesting

/// docs/agent.openapi.yaml, against which each answer is held that a test gets over the agent's socket.
struct AgentContract: Sendable {
  private static let document = Result { try OpenAPIDocument("docs/agent.openapi.yaml") }
  /// Longer documents are lists of thousands of the same: their schemas are held by shorter ones.
  private static let maximumLength = 64 << 10
  /// The operations that pass on refusals of services, whose codes are not all listed.
  private static let passingOn: Set = ["shop", "purchases", "readers"]

  private let document: OpenAPIDocument

  /// Throws where the document cannot be read.
  init() throws { document = try Self.document.get() }

  /// Where an answer is another than the document says, each place with a sentence. `target` is the path with its query.
  func faults(of response: ClientResponse, to method: String, _ target: String) throws -> [String] {
    let path = String(target.prefix { $0 != "?" })
    let isHead = method == "HEAD"
    let operation = document.operation(isHead ? "GET" : method, at: path)
    let type = String((response.head.headers["Content-Type"] ?? "").prefix { $0 != ";" })
    if response.status >= 400, type == "application/problem+json", !isHead {
      return try document.faults(in: JSONTree(response.body), by: schema("Problem"))
        + codeFaults(of: response, operation)
    }
    guard let operation else {
      return response.status >= 400 ? [] : ["\(method) \(path) is no operation of the document"]
    }
    let announced = operation.value["responses"]?["\(response.status)"].flatMap { document.follow($0) }
    guard let announced else {
      return response.status >= 400 && isHead ? [] : ["the status \(response.status) is not announced"]
    }
    let content = announced["content"]?.members ?? []
    guard let media = content.first(where: { $0.key == "*/*" || $0.key == type }) else {
      let isEmpty = content.isEmpty && (response.body.isEmpty || response.status >= 400)
      return isEmpty ? [] : ["\(type) of \(response.body.count) bytes is not announced"]
    }
    guard type.hasSuffix("json"), !isHead, response.body.count <= Self.maximumLength,
      let schema = media.value["schema"]
    else { return [] }
    return document.faults(in: try JSONTree(response.body), by: schema)
  }

  /// The schema of a name; one that allows nothing where there is none.
  private func schema(_ name: String) -> YAMLDocument {
    document.root["components"]?["schemas"]?[name] ?? .map([])
  }

  private func codeFaults(of response: ClientResponse, _ operation: OpenAPIDocument.Operation?) -> [String] {
    let problem = Problem(document: response.body, status: response.status, isDeclared: true)
    let code = String(problem?.type.dropFirst(ProblemCode.typePrefix.count) ?? "")
    guard problem?.status == response.status else { return ["$.status: not that of the answer"] }
    guard let operation else {
      return ["not-found", "method-not-allowed"].contains(code) ? [] : ["$.type: \(code) of no operation"]
    }
    let known = document.commonProblemCodes.union(operation.problemCodes)
    let passesOn = !Self.passingOn.isDisjoint(with: operation.value["tags"]?.texts ?? [])
    return known.contains(code) || passesOn ? [] : ["$.type: \(code) is not announced"]
  }
}
