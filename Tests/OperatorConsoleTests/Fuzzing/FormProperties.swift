import Foundation
import HTTPParsing
import HTTPServer
import Synchronization

@testable import OperatorConsole

/// The bodies of forms: their fields are those that Foundation decodes, and the parts of a form with a file those of a second reading of the
/// whole (RFC 7578). The boundary is `b`.
enum FormProperties {
  static func check(_ bytes: [UInt8]) -> String? {
    checkFields(bytes) ?? checkParts(bytes)
  }

  /// Runs what is put to it at once: the body is here whole, and nothing is waited for.
  private final class Inline: TaskExecutor {
    func enqueue(_ job: consuming ExecutorJob) {
      unsafe UnownedJob(job).runSynchronously(on: asUnownedTaskExecutor())
    }
  }

  private final class Result<Value: Sendable>: Sendable {
    let value = Mutex<Value?>(nil)
  }

  private static let executor = Inline()

  private static func run<Value: Sendable>(_ body: @escaping @Sendable () async -> Value?) -> Value? {
    let result = Result<Value>()
    Task(executorPreference: executor) {
      let value = await body()
      result.value.withLock { $0 = value }
    }
    return result.value.withLock { $0 }
  }

  private static func request(_ bytes: [UInt8], _ type: String) -> HTTPRequest? {
    try? HTTPRequest(
      method: .post, rawTarget: "/", headers: ["Content-Type": type], body: RequestBody(bytes))
  }

  private static func checkFields(_ bytes: [UInt8]) -> String? {
    guard let request = request(bytes, "application/x-www-form-urlencoded"),
      let form = run({ try? await FormBody(request) })
    else { return nil }
    for pair in String(decoding: bytes, as: UTF8.self).utf8.split(separator: 0x26) {
      let sides = pair.split(separator: 0x3D, maxSplits: 1, omittingEmptySubsequences: false).map { side in
        String(decoding: side.map { $0 == 0x2B ? 0x20 : $0 }, as: UTF8.self).removingPercentEncoding
      }
      guard let name = sides[0], let value = sides.count == 2 ? sides[1] : "" else {
        return "a field is read that Foundation does not decode"
      }
      guard form.values(name).map({ Array($0.utf8) }) == [Array(value.utf8)],
        form.removing([name])[name] == nil, form[name]?.utf8.contains(0) == false
      else { return "\(name.debugDescription) is \(form.values(name)), and by Foundation \(value)" }
      if let text = form.text(name), text.first?.isWhitespace != false || text.last?.isWhitespace != false {
        return "\(text.debugDescription) has spaces around it"
      }
    }
    return nil
  }

  private struct Content: Hashable, Sendable {
    var name: String
    var fileName: String?
    var bytes: [UInt8]
  }

  private static func checkParts(_ bytes: [UInt8]) -> String? {
    guard let request = request(bytes, "multipart/form-data; boundary=b") else { return "no request" }
    let read = run { () async -> [Content]? in
      guard var form = try? MultipartForm(request) else { return nil }
      var parts: [Content] = []
      do {
        while let part = try await form.next() {
          var content: [UInt8] = []
          while let chunk = try await form.chunk() { content += chunk }
          parts.append(Content(name: part.name, fileName: part.fileName, bytes: content))
        }
        return parts
      } catch { return nil }
    }
    return read == parts(of: bytes)
      ? nil : "other parts are read: \(read ?? []), and not \(parts(of: bytes) ?? [])"
  }

  /// From one delimiter to the next; nil where the end is missing, or a part has no name.
  private static func parts(of bytes: [UInt8]) -> [Content]? {
    var rest = Data("\r\n".utf8) + Data(bytes)
    var parts: [Content] = []
    guard let first = rest.range(of: Data("\r\n--b".utf8)) else { return nil }
    rest = Data(rest[first.upperBound...])
    while !rest.starts(with: Data("--".utf8)) {
      guard rest.starts(with: Data("\r\n".utf8)), let end = rest.range(of: Data("\r\n\r\n".utf8)),
        let part = MultipartForm.part(String(decoding: rest[..<end.lowerBound].dropFirst(2), as: UTF8.self)),
        // The line break before the content is one that a delimiter may begin with.
        let next = rest.range(of: Data("\r\n--b".utf8), in: end.lowerBound + 2..<rest.endIndex)
      else { return nil }
      let content = next.lowerBound < end.upperBound ? Data() : rest[end.upperBound..<next.lowerBound]
      parts.append(Content(name: part.name, fileName: part.fileName, bytes: Array(content)))
      rest = Data(rest[next.upperBound...])
    }
    return parts
  }
}
