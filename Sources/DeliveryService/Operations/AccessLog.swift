import ContentDelivery
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
