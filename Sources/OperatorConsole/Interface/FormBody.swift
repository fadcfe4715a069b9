import CoreTypes
import HTTPParsing
import HTTPServer
import PullboxAPI
import PullboxAPIServer

/// The fields of a form that was sent (`application/x-www-form-urlencoded`).
struct FormBody: Sendable {
  /// Bytes of a form, at most, unless its page says otherwise.
  static let maximumLength = ByteCount.kibibytes(64)
  /// Bytes of a form with the texts of a product, at most.
  static let maximumEditLength = ByteCount.mebibytes(4)

  private var fields: [QueryParameter]

  /// Reads the body. Throws `request-malformed` for what is no such form, and for a field that is there twice and is not among
  /// `repeatable`: which of them counts would be for proxies to decide.
  init(
    _ request: HTTPRequest, repeatable: Set<String> = [], upTo limit: ByteCount = maximumLength
  ) async throws(Problem) {
    let type = try request.onlyValue(of: "Content-Type") ?? ""
    guard type.lowercased().prefix(while: { $0 != ";" }) == "application/x-www-form-urlencoded" else {
      throw Problem(.requestMalformed, "a form is expected here")
    }
    let bytes = try await request.bytes(upTo: limit)
    do {
      fields = try HTTPRequest(method: .post, rawTarget: "/?" + String(decoding: bytes, as: UTF8.self)).query
    } catch {
      throw Problem(.requestMalformed, "the form does not decode to text")
    }
    var seen: Set<String> = []
    for field in fields {
      guard !field.value.utf8.contains(0), !field.name.utf8.contains(0) else {
        throw Problem(.requestMalformed, "the form has the character U+0000")
      }
      guard seen.insert(field.name).inserted || repeatable.contains(field.name) else {
        throw Problem(.requestMalformed, "\(field.name) occurs more than once")
      }
    }
  }

  /// The value of a field; nil without it. Line breaks are those of JSON.
  subscript(name: String) -> String? {
    fields.first { $0.name == name }?.value.replacing("\r\n", with: "\n")
  }

  /// The form without these fields.
  func removing(_ names: Set<String>) -> FormBody {
    var form = self
    form.fields.removeAll { names.contains($0.name) }
    return form
  }

  /// All values of a field that may be there several times.
  func values(_ name: String) -> [String] { fields.filter { $0.name == name }.map(\.value) }

  /// The value without the spaces around it; nil where nothing is left.
  func text(_ name: String) -> String? {
    guard let value = self[name] else { return nil }
    let start = value.drop { $0.isWhitespace }
    let end = start.lastIndex { !$0.isWhitespace }
    return end.map { String(start[...$0]) }
  }
}
