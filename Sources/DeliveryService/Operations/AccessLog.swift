import CoreTypes
import Glibc
import HTTPServer
import ServiceRuntime
import Synchronization
import SystemCalls

/// Writes a line for each request, on a thread of its own: the loops leave their records in rings and never wait for it.
/// A record that finds its ring full, or whose line cannot be written, is lost and counted.
final class AccessLog: ExchangeRecorder {
  /// For each loop, twenty times a second: 160,000 requests a second before records are dropped.
  let ringCapacity = 8192
  static let interval: UInt32 = 50_000

  private let path: String
  private let log: Log
  private let thread = BlockingThread(name: "access-log")
  private let rings = Mutex<[AccessRing]>([])
  private let wantsReopening = Atomic<Bool>(false)
  private let isEnding = Atomic<Bool>(false)
  private let lost = Atomic<UInt64>(0)

  /// `path` is a file that lines are appended to, or `-` for standard error.
  init(path: String, log: Log) {
    self.path = path
    self.log = log
  }

  /// Lines that could not be written, since the start.
  var lostLines: UInt64 { lost.load(ordering: .relaxed) }

  func begin(_ rings: [AccessRing]) {
    self.rings.withLock { $0 += rings }
  }

  /// Throws if the file cannot be written, so that an operator learns it at the start. Blocks.
  func check() throws {
    guard path != "-" else { return }
    _ = try open()
  }

  /// Opens the path anew before the next line: the file that was open may have been moved away.
  func reopen() {
    wantsReopening.store(true, ordering: .relaxed)
  }

  /// After this call everything that was recorded before is written, and ``run()`` returns.
  func end() {
    isEnding.store(true, ordering: .releasing)
  }

  /// Writes until ``end()``.
  func run() async {
    await thread.run { self.write() }
  }

  private func open() throws(SystemError) -> FileDescriptor {
    try FileDescriptor.open(
      path, .writeOnly, options: [.create, .append], permissions: 0o640)
  }

  private func write() {
    var file: FileDescriptor?
    var isFailing = false
    while true {
      let isLast = isEnding.load(ordering: .acquiring)
      if wantsReopening.exchange(false, ordering: .relaxed) { file = nil }
      var lines: [UInt8] = []
      var count: UInt64 = 0
      for ring in rings.withLock({ $0 }) {
        ring.drain { record in
          AccessLine.append(record, to: &lines)
          count += 1
        }
      }
      if !lines.isEmpty {
        do throws(SystemError) {
          if path == "-" {
            if !StandardStream.error.write(lines) { lost.add(count, ordering: .relaxed) }
          } else {
            if file == nil { file = try open() }
            let bytes = lines
            try file?.write(bytes.span)
          }
          isFailing = false
        } catch {
          lost.add(count, ordering: .relaxed)
          file = nil
          // Once, not twenty times a second.
          if !isFailing { log.error("the access log cannot be written", ["error": LogValue(error)]) }
          isFailing = true
        }
      }
      if isLast { return }
      usleep(Self.interval)
    }
  }
}

/// One line of the access log: JSON, without a value that opens content or names a person.
enum AccessLine {
  /// Appends the line of a record, line feed included.
  static func append(_ record: borrowing AccessRecord, to line: inout [UInt8]) {
    line.append(text: "{\"time\":\"")
    line.append(text: record.start.description)
    line.append(text: "\",\"id\":\"")
    line.append(text: record.identifierText)
    line.append(text: "\",\"remote\":\"")
    line.append(text: record.peer.description)
    line.append(text: "\",\"method\":\"")
    line.append(text: name(of: record.method))
    line.append(text: "\",\"path\":\"")
    line.append(escaping: redacted(record.path) + (record.isPathCut ? "…" : ""))
    line.append(text: "\",\"status\":")
    line.append(text: String(record.status))
    line.append(text: ",\"sent\":")
    line.append(text: String(record.bytesSent))
    line.append(text: ",\"received\":")
    line.append(text: String(record.bytesReceived))
    line.append(text: ",\"firstByteMicroseconds\":")
    line.append(text: String(record.timeToFirstByte / 1000))
    line.append(text: ",\"microseconds\":")
    line.append(text: String(record.duration / 1000))
    line.append(text: record.isComplete ? ",\"complete\":true}\n" : ",\"complete\":false}\n")
  }

  /// A path that may be written down. The query never gets here. Behind `grants` only what the routes have and a
  /// short name, which opens nothing, is kept; elsewhere what could be a ticket, or hold most of a grant's name in any
  /// spelling, is left out.
  static func redacted(_ path: String) -> String {
    var isBehindGrants = false
    return path.split(separator: "/", omittingEmptySubsequences: false).map { part in
      defer { isBehindGrants = isBehindGrants || part == "grants" }
      if isBehindGrants { return isOfGrantRoutes(part) ? String(part) : "…" }
      // The name of an upload, which needs a key.
      if part.utf8.count == 32, part.utf8.allSatisfy(isHexadecimal) { return part.prefix(8) + "…" }
      return isDigest(part) || isHarmless(part) ? String(part) : "…"
    }.joined(separator: "/")
  }

  private static func isOfGrantRoutes(_ part: Substring) -> Bool {
    if ["", "tickets", "completion", "revoke", "reinstate"].contains(part) { return true }
    return part.utf8.count == 16 && part.utf8.allSatisfy(isHexadecimal)
  }

  /// A digest is 64 digits and opens nothing.
  private static func isDigest(_ part: Substring) -> Bool {
    let digits = part.hasSuffix(".meta4") ? part.dropLast(6) : part
    return digits.utf8.count == 64 && digits.utf8.allSatisfy(isHexadecimal)
  }

  /// Too short for a ticket, and without more than a quarter of a grant's name: digits in a row, whatever stands between
  /// them in a UUID.
  private static func isHarmless(_ part: Substring) -> Bool {
    guard part.utf8.count <= 64, part.utf8.count < 32 || !part.utf8.contains(UInt8(ascii: "%")) else {
      return false
    }
    var run = 0
    for byte in part.utf8 where !"-:{}".utf8.contains(byte) {
      run = isHexadecimal(byte) ? run + 1 : 0
      if run > 16 { return false }
    }
    return true
  }

  private static func isHexadecimal(_ byte: UInt8) -> Bool {
    (0x30...0x39).contains(byte) || (0x61...0x66).contains(byte | 0x20)
  }

  private static func name(of method: RequestHead.Method) -> String {
    switch method {
    case .get: "GET"
    case .head: "HEAD"
    case .post: "POST"
    case .put: "PUT"
    case .patch: "PATCH"
    case .delete: "DELETE"
    case .options: "OPTIONS"
    case .other: "other"
    }
  }
}

extension [UInt8] {
  fileprivate mutating func append(text: String) {
    append(contentsOf: text.utf8)
  }

  /// Appends the text as the inside of a JSON string (RFC 8259 §7).
  fileprivate mutating func append(escaping text: String) {
    JSONString.appendContent(of: text, to: &self, form: .oneLine)
  }
}

/// Puts the client into the access record if a trusted proxy forwarded the request.
struct ForwardedClientHandler: AsyncHandler {
  let handler: any AsyncHandler
  let settings: LiveSettings

  func respond(to request: HTTPRequest) async -> HTTPResponse {
    var response = await handler.respond(to: request)
    if settings.dependsOnProxies {
      response.client = settings.value.proxies.origin(of: request.peer, ForwardingFields(request)).client
    }
    return response
  }
}
