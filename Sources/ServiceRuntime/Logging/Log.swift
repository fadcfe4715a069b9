public import CoreTypes
import Synchronization

/// Writes lines that operators read: JSON, or short plain text where a person watches. A line is written with
/// one write(2) before the call returns. Copies share level and output. Secrets go in as ``Redacted``, or not
/// at all.
public struct Log: Sendable {
  public enum Format: Sendable {
    /// ``plain`` where standard error is a terminal, ``json`` elsewhere.
    case automatic
    case json
    case plain
  }

  private final class Core: Sendable {
    let level: Atomic<Int>
    let isPlain: Bool
    let clock: any WallClock
    let output: @Sendable ([UInt8]) -> Void

    init(
      level: LogLevel, isPlain: Bool, clock: any WallClock, output: @escaping @Sendable ([UInt8]) -> Void
    ) {
      self.level = Atomic(level.rawValue)
      self.isPlain = isPlain
      self.clock = clock
      self.output = output
    }
  }

  private let core: Core
  private var fields: [(String, LogValue)] = []

  /// `output` gets whole lines, line feed included, from any thread; standard error unless given.
  public init(
    level: LogLevel = .info, format: Format = .automatic, clock: any WallClock = SystemWallClock(),
    output: (@Sendable ([UInt8]) -> Void)? = nil
  ) {
    let isPlain =
      switch format {
      case .automatic: Terminal.standardError.isTerminal
      case .json: false
      case .plain: true
      }
    core = Core(
      level: level, isPlain: isPlain, clock: clock, output: output ?? { StandardStream.error.write($0) })
  }

  /// Of this log and of all its copies.
  public var level: LogLevel {
    get { LogLevel(rawValue: core.level.load(ordering: .relaxed)) ?? .info }
    nonmutating set { core.level.store(newValue.rawValue, ordering: .relaxed) }
  }

  /// A log whose every line starts with these fields.
  public func with(_ fields: KeyValuePairs<String, LogValue>) -> Log {
    var log = self
    log.fields += fields.map { ($0.key, $0.value) }
    return log
  }

  public func error(_ message: @autoclosure () -> String, _ fields: KeyValuePairs<String, LogValue> = [:]) {
    write(.error, message, fields)
  }

  public func warning(_ message: @autoclosure () -> String, _ fields: KeyValuePairs<String, LogValue> = [:]) {
    write(.warning, message, fields)
  }

  public func info(_ message: @autoclosure () -> String, _ fields: KeyValuePairs<String, LogValue> = [:]) {
    write(.info, message, fields)
  }

  public func debug(
    _ message: @autoclosure () -> String, _ fields: @autoclosure () -> KeyValuePairs<String, LogValue> = [:]
  ) {
    guard level >= .debug else { return }
    write(.debug, message, fields())
  }

  private func write(_ level: LogLevel, _ message: () -> String, _ fields: KeyValuePairs<String, LogValue>) {
    guard level <= self.level else { return }
    let line = LogLine(
      time: core.clock.now(), level: level, message: message(),
      fields: self.fields + fields.map { ($0.key, $0.value) })
    core.output(core.isPlain ? line.plain : line.json)
  }
}
