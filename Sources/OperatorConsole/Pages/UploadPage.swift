import Commerce
import CoreTypes
import Crypto
import HTTPServer
import PullboxAPI
import PullboxAPIServer
import RouteAccess
import ServiceAPI

/// The upload of a package from the browser: a form with a file, which becomes an upload and a version as those of `pullbox publish` do.
struct UploadPage {
  private let visit: Visit
  private var words: Words { visit.words }

  init(_ visit: Visit) {
    self.visit = visit
  }

  func page() async throws -> Page {
    try visit.request.requireQuery(only: ["product", "notice"])
    return page(product: visit.value("product"), version: nil, problem: nil)
  }

  /// Bytes that are handed to the upload at once.
  private static let step = 4 * 1024 * 1024
  private static let uploads = Address.interface("uploads")
  private static let fields: Set = ["token", "product", "version", "upload"]

  /// Reads the form as it arrives: the token first, then product and version, then the file, or the name of the upload to which the
  /// script has sent it.
  func take() async throws -> Outcome {
    var form = try MultipartForm(visit.request)
    var fields: [String: String] = [:]
    while let part = try await form.next() {
      guard let fileName = part.fileName else {
        guard Self.fields.contains(part.name) else {
          throw Problem(.requestMalformed, "the form has no field \(part.name.prefix(40))")
        }
        guard fields.updateValue(try await form.text(upTo: 1024), forKey: part.name) == nil else {
          throw Problem(.requestMalformed, "\(part.name) occurs more than once")
        }
        continue
      }
      return try await finish(fields) { () async throws(Problem) in try await receive(&form, named: fileName)
      }
    }
    guard let upload = fields["upload"] else { throw Problem(.requestMalformed, "the form has no file") }
    return try await finish(fields) { () throws(Problem) in upload }
  }

  /// Makes a version of the upload that `upload` returns.
  private func finish(
    _ fields: [String: String], _ upload: () async throws(Problem) -> String
  ) async throws -> Outcome {
    guard SecretDigest(of: visit.visitor.formToken).matches(fields["token"]) else {
      throw Problem.foreignForm
    }
    let (product, version) = (fields["product"] ?? "", fields["version"] ?? "")
    do throws(Problem) {
      try await requireProduct(product)
      try await makeVersion(of: product, version, from: try await upload())
      return .done(.console("products", product, version), .uploaded)
    } catch {
      return .again(page(product: product, version: version, problem: error))
    }
  }

  /// Looks before the file is read whether its product is there.
  func requireProduct(_ product: String) async throws(Problem) {
    let found: Result<OperatorProduct, Problem> = await visit.get(.interface("products", product))
    if case .failure(let problem) = found { throw problem }
  }

  /// Makes an upload of the file's bytes, and returns its name. What has arrived of a file that does not come whole goes on from
  /// nowhere: it is forgotten like any upload that is left.
  private func receive(_ form: inout MultipartForm, named fileName: String) async throws(Problem) -> String {
    var headers: HTTPFields = [
      "Tus-Resumable": "1.0.0", "Upload-Defer-Length": "1",
      "Upload-Metadata": "filename \(Base64.encode(Array(fileName.utf8)))",
    ]
    let created = await visit.reader.interface.answer(
      .post, Self.uploads, with: visit.reader.key, headers: headers)
    try Self.require(created)
    guard let id = created.headers["Location"]?.split(separator: "/").last.map(String.init) else {
      throw Problem(.internalError, "the upload has no address")
    }
    headers = ["Tus-Resumable": "1.0.0", "Content-Type": "application/offset+octet-stream"]
    var (offset, waiting) = (0, [UInt8]())
    while let chunk = try await form.chunk() {
      // The last bytes are kept back: they say how long the whole is.
      if waiting.count >= Self.step {
        offset = try await append(waiting, to: id, at: offset, headers)
        waiting = []
      }
      waiting += chunk
    }
    headers["Upload-Length"] = "\(offset + waiting.count)"
    _ = try await append(waiting, to: id, at: offset, headers)
    return id
  }

  private func append(
    _ bytes: [UInt8], to id: String, at offset: Int, _ headers: HTTPFields
  ) async throws(Problem) -> Int {
    var headers = headers
    headers["Upload-Offset"] = "\(offset)"
    let answer = await visit.reader.interface.answer(
      .patch, .interface("uploads", id), with: visit.reader.key, headers: headers, body: bytes)
    try Self.require(answer)
    return offset + bytes.count
  }

  private func makeVersion(of product: String, _ version: String, from upload: String) async throws(Problem) {
    guard let number = ContentVersion(version) else { throw Problem(.requestMalformed, words(.versionHint)) }
    let result = await visit.reader.change(
      .interface("products", product, "versions"), with: VersionSubmission(upload: upload, version: number),
      as: VersionRecord.self)
    if case .failure(let problem) = result { throw problem }
  }

  private static func require(_ response: HTTPResponse) throws(Problem) {
    guard !(200...299).contains(response.status.rawValue) else { return }
    guard case .bytes(let bytes) = response.body,
      let problem = Problem(document: bytes, status: response.status.rawValue, isDeclared: true)
    else { throw Problem(.internalError, "the interface answered \(response.status.rawValue)") }
    throw problem
  }

  private func page(product: String?, version: String?, problem: Problem?) -> Page {
    var page = Page(
      words(.uploadPackage), in: .products, reading: Self.uploads,
      command: "pullbox publish FILE --product ID --version V"
    ) {
      if let problem { StepForm.refusal(problem, meanwhile: nil, visit) }
      element(.p) { words(.uploadHint) }
      element(.form, with: Self.form + sentences) {
        element(.input, .input(.hidden), .name("token"), .value(visit.visitor.formToken))
        Parts.field(words(.identifier), "product", product, hint: words(.productHint), isRequired: true)
        Parts.field(words(.version), "version", version, hint: words(.versionHint), isRequired: true)
        Parts.field(words(.packageFile), "file", nil, .file, isRequired: true)
        element(.button) { words(.upload) }
        element(.div, .look(.field, .wide), .behavior(.uploadProgress), .unseen) {
          element(.progress, .labeled(words(.uploadProgress)))
          element(.button, .input(.button), .look(.quiet)) { words(.stopUpload) }
        }
        element(.p, .role(.status))
        element(.p, .look(.problem), .role(.alert), .unseen)
      }
    }
    if let problem { page.status = HTTPStatus(rawValue: problem.status) }
    return page
  }

  private static let form: [Attribute] = [
    .method(.post), .action(.console("upload")), .multipart, .look(.fields), .behavior(.upload),
  ]

  /// The sentences of the script.
  private var sentences: [Attribute] {
    [
      .sentence(.sending, words(.uploadSending)), .sentence(.lost, words(.uploadLost)),
      .sentence(.stopped, words(.uploadStopped)), .sentence(.ended, words(.uploadSessionEnded)),
      .sentence(.unreadable, words(.uploadUnreadable)),
    ]
  }
}

extension Problem {
  /// The refusal of a form whose token is not the session's.
  static let foreignForm = Problem(
    .forbidden, "the form belongs to a session that has ended; open its page again")
}
