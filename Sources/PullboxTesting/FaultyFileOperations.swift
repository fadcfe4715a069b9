internal import CLinux
public import CoreTypes
internal import Glibc
internal import Synchronization
public import SystemCalls

/// The kernel's file operations, one step of which fails.
public final class FaultyFileOperations: FileOperations {
  /// The operations that can fail.
  public enum Step: String, CaseIterable, Sendable {
    case create
    case write
    case synchronize
    case rename
    case synchronizeDirectory
    case remove
  }

  private struct State {
    var failing: Step?
    var steps: [Step] = []
  }

  private let state: Mutex<State>
  private let number: Int32
  private let system = SystemFileOperations()

  /// `failing` fails every time, with `number` as its errno (`EIO` unless given); nil lets all succeed.
  public init(failing: Step?, number: Int32? = nil) {
    state = Mutex(State(failing: failing))
    self.number = number ?? EIO
  }

  /// The steps asked for so far, failed ones included.
  public var steps: [Step] { state.withLock { $0.steps } }

  /// From now on `step` fails; nil lets all succeed.
  public func fail(_ step: Step?) {
    state.withLock { $0.failing = step }
  }

  /// Records ``Step/create``, and fails when the test wants that.
  public func create(_ path: String, permissions: UInt32) throws(SystemError) -> FileDescriptor {
    try record(.create)
    return try system.create(path, permissions: permissions)
  }

  /// When failing, half of `bytes` is written first, as on a full device.
  public func write(
    _ bytes: Span<UInt8>, to file: borrowing FileDescriptor, at offset: ByteCount
  ) throws(SystemError) {
    do {
      try record(.write)
    } catch {
      try system.write(bytes.extracting(first: bytes.count / 2), to: file, at: offset)
      throw error
    }
    try system.write(bytes, to: file, at: offset)
  }

  /// Records ``Step/synchronize``, and fails when the test wants that.
  public func synchronize(_ file: borrowing FileDescriptor) throws(SystemError) {
    try record(.synchronize)
    try system.synchronize(file)
  }

  /// Records ``Step/rename``, and fails when the test wants that.
  public func rename(
    _ path: String, to newPath: String, ifPresent rule: FileSystem.RenameRule
  ) throws(SystemError) {
    try record(.rename)
    try system.rename(path, to: newPath, ifPresent: rule)
  }

  /// Records ``Step/synchronizeDirectory``, and fails when the test wants that.
  public func synchronizeDirectory(_ path: String) throws(SystemError) {
    try record(.synchronizeDirectory)
    try system.synchronizeDirectory(path)
  }

  /// Records ``Step/remove``, and fails when the test wants that.
  public func remove(_ path: String) throws(SystemError) {
    try record(.remove)
    try system.remove(path)
  }

  private func record(_ step: Step) throws(SystemError) {
    let fails = state.withLock { state in
      state.steps.append(step)
      return state.failing == step
    }
    if fails { throw SystemError(number: number, call: step.rawValue, subject: "injected") }
  }
}
