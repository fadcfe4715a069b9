import Glibc
import HTTPServer
import ServiceRuntime
import Synchronization
import SystemCalls

/// Writes a line for each request, on a thread of its own: the loops leave their records in rings and never wait for it.
/// What finds a ring full, or a file that takes nothing, is lost and counted.
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

  /// `path` is a file that lines are added to, or `-` for standard error.
  init(path: String, log: Log) {
    self.path = path
    self.log = log
  }

  /// Lines that could not be written.
  var lostLines: UInt64 { lost.load(ordering: .relaxed) }

  func begin(_ rings: [AccessRing]) {
    self.rings.withLock { $0 = rings }
  }

  /// Throws when the file cannot be written to; for the start, so that an operator learns it then. Blocks.
  func check() throws {
    guard path != "-" else { return }
    _ = try open()
  }

  /// Makes the next line go to a file of that name, which need not be the one that was open: the old one was moved away.
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
