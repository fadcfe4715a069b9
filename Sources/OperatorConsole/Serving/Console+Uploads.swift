import CoreTypes
import Crypto
import HTTPParsing
import HTTPServer
import PullboxAPI
import PullboxAPIServer

extension Console {
  /// The fields of tus that the script's requests have, and those that say what is sent.
  private static let tusFields = [
    "Tus-Resumable", "Upload-Length", "Upload-Offset", "Upload-Metadata", "Content-Type",
  ]

  /// Answers the script's requests below `/console/uploads`, by tus: the interface does, with the key of who is signed in. Each carries
  /// the session's token in `X-Pullbox-Form`. A creation names the product, so that no bytes are sent for one that is not there.
  func upload(_ path: [String], _ visit: Visit, _ door: Door) async -> HTTPResponse {
    do throws(Problem) {
      try door.requireOwnOrigin(visit.request)
      let token = try visit.request.onlyValue(of: "X-Pullbox-Form")
      guard SecretDigest(of: visit.visitor.formToken).matches(token) else { throw Problem.foreignForm }
      switch (visit.request.method, path.count) {
      case (.post, 0):
        try visit.request.requireQuery(only: ["product"])
        guard visit.request.body.expectedLength == .zero else {
          throw Problem(.requestMalformed, "a creation has no content here")
        }
        try await UploadPage(visit).requireProduct(visit.value("product") ?? "")
      case (.head, 1), (.patch, 1): try visit.request.requireQuery(only: [])
      default: throw Problem(.methodNotAllowed, "uploads are begun by POST, and go on by HEAD and PATCH")
      }
      return await ask(path, visit)
    } catch {
      return .problem(error)
    }
  }

  private func ask(_ path: [String], _ visit: Visit) async -> HTTPResponse {
    var fields: HTTPFields = [:]
    for name in Self.tusFields {
      for value in visit.request.headers.values(of: name) { fields.append(name: name, value: value) }
    }
    var response = await visit.reader.interface.answer(
      visit.request.method, Address(["v1", "operator", "uploads"] + path), with: visit.visitor.key,
      headers: fields, content: visit.request.body)
    if let name = response.headers["Location"]?.split(separator: "/").last {
      response.headers["Location"] = Address.console("uploads", String(name)).text
    }
    return response
  }
}
