import ContentDelivery
import CoreTypes
import Glibc
import HTTPServer
import ServiceRuntime
import Synchronization
import SystemCalls

/// Writes a line for each request, on a thread of its own: the loops leave their records in rings and never wait for it.
/// A record that finds its ring full, or whose line cannot be written, is lost and counted. At SIGHUP the file
/// is opened anew, for programs that rotate logs. docs/delivery.md ("Logs") shows it to operators.
final class AccessLog: ExchangeRecorder {
  /// For each loop, twenty times a second: 160,000 requests a second before records are dropped.
  let ringCapacity = 8192
  /// Microseconds between two looks at the rings.
  static let interval: UInt32 = 50_000

  /// A path, or `-` for standard error.
  private let path: String
  /// Where failures to write are told of: once for a row of them.
  private let log: Log
  /// Makes the lines and writes them; it sleeps for ``interval`` between two rounds.
  private let thread = BlockingThread(name: "access-log")
  /// The rings of every server that began. None is removed: a round drains them all.
  private let rings = Mutex<[AccessRing]>([])
  /// Set by any thread; taken back by the log's thread, which closes the file then.
  private let wantsReopening = Atomic<Bool>(false)
  /// Read before the rings are drained, so that the last round has what was recorded before ``end()``.
  private let isEnding = Atomic<Bool>(false)
  /// Lines since the start that no write took. Records that found their ring full are counted in the ring.
  private let lost = Atomic<UInt64>(0)

  /// `path` is a file that lines are appended to, or `-` for standard error.
  init(path: String, log: Log) {
    self.path = path
    self.log = log
  }

  /// Lines that could not be written, since the start.
  var lostLines: UInt64 { lost.load(ordering: .relaxed) }

  /// Adds the rings of a server that starts; its loops fill them from then on.
  func begin(_ rings: [AccessRing]) {
    self.rings.locked { $0 += rings }
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

  /// Opens the path for appending; a new file is for its owner and group alone.
  private func open() throws(SystemError) -> FileDescriptor {
    try FileDescriptor.open(
      path, .writeOnly, options: [.create, .append], permissions: 0o640)
  }

  /// Writes until the end, on the log's thread. Lines that cannot be written are lost: the file is opened anew
  /// for the next.
  private func write() {
    var file: FileDescriptor?
    var isFailing = false
    while true {
      let isLast = isEnding.load(ordering: .acquiring)
      if wantsReopening.exchange(false, ordering: .relaxed) { file = nil }
      var lines: [UInt8] = []
      var count: UInt64 = 0
      for ring in rings.locked({ $0 }) {
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

/// Puts the client into the access record if a trusted proxy forwarded the request. The peer itself decides
/// whether its fields count: only those of a trusted proxy do.
struct ForwardedClientHandler: AsyncHandler {
  /// Answers the request.
  let handler: any AsyncHandler
  /// The trusted proxies, which a reload may change.
  let settings: LiveSettings

  /// Leaves the answer as it is, but for its client. Without any trusted proxy the fields of the request are
  /// not looked at.
  func respond(to request: HTTPRequest) async -> HTTPResponse {
    var response = await handler.respond(to: request)
    if settings.dependsOnProxies {
      response.client = settings.value.proxies.origin(of: request.peer, ForwardingFields(request)).client
    }
    return response
  }
}
