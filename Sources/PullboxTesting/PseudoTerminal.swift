internal import CLinux
internal import Glibc
internal import Synchronization
internal import SystemCalls

/// A terminal whose keyboard and screen a test is (pty(7)), 100 columns by 40 lines. What is typed is echoed, as on others.
public final class PseudoTerminal: Sendable {
  /// The text that was shown, and those who wait for more.
  private struct State {
    /// Everything since the beginning, control sequences included.
    var text = ""
    /// Those who wait for a text, with what precedes it.
    var watchers: [(found: @Sendable (String) -> Bool, continuation: CheckedContinuation<Bool, Never>)] = []
    /// Whether nothing more comes.
    var isOver = false
  }

  /// The side of the test.
  private let master: FileDescriptor
  /// The side of programs, kept open so that the test's side does not end with one of them.
  private let slave: FileDescriptor
  /// Reads what programs write.
  private let reader = BlockingThread(name: "terminal")
  /// Guards what was shown.
  private let state = Mutex(State())

  /// `TIOCSPTLCK` and `TIOCGPTN` of ioctl_tty(2), which are no constants that Swift reads.
  private static let (setLock, getNumber): (UInt, UInt) = (0x4004_5431, 0x8004_5430)

  /// The byte behind which nothing comes (RS of ASCII), which no program under test writes.
  private static let end: UInt8 = 0x1E

  /// Opens a terminal. It is no process's controlling terminal.
  public init() throws {
    let number = try SystemCall.run("open") { unsafe open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC) }
    master = FileDescriptor(takingOwnershipOf: number)
    var lock: Int32 = 0
    try SystemCall.run("ioctl") { unsafe ioctl(number, Self.setLock, &lock) }
    var index: UInt32 = 0
    try SystemCall.run("ioctl") { unsafe ioctl(number, Self.getNumber, &index) }
    let slaveNumber = try SystemCall.run("open") {
      unsafe open("/dev/pts/\(index)", O_RDWR | O_NOCTTY | O_CLOEXEC)
    }
    slave = FileDescriptor(takingOwnershipOf: slaveNumber)
    var size = winsize(ws_row: 40, ws_col: 100, ws_xpixel: 0, ws_ypixel: 0)
    try SystemCall.run("ioctl") { unsafe ioctl(slaveNumber, UInt(TIOCSWINSZ), &size) }
    // Unstructured: reads until ``close()``.
    Task { await reader.run { self.read() } }
  }

  /// The descriptor that a program gets as its three streams.
  var programSide: Int32 { slave.number }

  /// Types a line, and the key that ends it.
  public func type(_ line: String) throws {
    try master.write(Array("\(line)\n".utf8).span)
  }

  /// Everything that was shown, control sequences included.
  public var text: String { state.withLock { $0.text } }

  /// Returns once `text` has been shown behind the first `offset` characters; false where the terminal is closed before.
  @discardableResult
  public func wait(for text: String, after offset: Int = 0) async -> Bool {
    let found: @Sendable (String) -> Bool = { $0.dropFirst(offset).contains(text) }
    return await withCheckedContinuation { continuation in
      let result = state.withLock { state -> Bool? in
        if found(state.text) { return true }
        if state.isOver { return false }
        state.watchers.append((found, continuation))
        return nil
      }
      if let result { continuation.resume(returning: result) }
    }
  }

  /// Ends every wait, behind what programs have written: a program that says something and ends has said it. Called once the program that uses it
  /// has ended.
  public func close() {
    var end = Self.end
    _ = unsafe Glibc.write(slave.number, &end, 1)
  }

  /// Nothing more comes.
  private func finish() {
    let watchers = state.withLock { state in
      state.isOver = true
      defer { state.watchers = [] }
      return state.watchers
    }
    for watcher in watchers { watcher.continuation.resume(returning: false) }
  }

  /// Reads until the terminal is closed. Blocks.
  private func read() {
    var buffer = [UInt8](repeating: 0, count: 4096)
    while true {
      let (number, length) = (master.number, buffer.count)
      let count: Int
      do {
        count = try SystemCall.run("read") { unsafe Glibc.read(number, &buffer, length) }
      } catch {
        return finish()
      }
      guard count > 0 else { return finish() }
      let end = buffer.prefix(count).firstIndex(of: Self.end)
      show(String(decoding: buffer.prefix(end ?? count), as: UTF8.self))
      if end != nil { return finish() }
    }
  }

  /// Adds to what was shown, and wakes those who waited for it.
  private func show(_ text: String) {
    let found = state.withLock { state in
      state.text += text
      let whole = state.text
      let found = state.watchers.filter { $0.found(whole) }
      state.watchers.removeAll { $0.found(whole) }
      return found
    }
    for watcher in found { watcher.continuation.resume(returning: true) }
  }
}
