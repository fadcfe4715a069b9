public import CoreTypes
import Synchronization

/// Writes lines that operators read: JSON, or short plain text on a terminal. A line is written with one write(2) before
/// the call returns, and has at most 4096 bytes. Copies share level and output. Secrets go in as ``Redacted``, or not at
/// all.
///
/// ```swift
/// let log = Log(level: .info).with(["service": "outbox"])
/// log.warning("the store does not answer", ["attempt": 3, "error": LogValue(error)])
/// // {"time":"2026-11-21T08:30:00.000Z","level":"warning","message":"the store does not answer","service":"outbox",…}
/// ```
public struct Log: Sendable {
  /// How a line is written.
  public enum Format: Sendable {
    /// ``plain`` if standard error is a terminal, else ``json``.
    case automatic
    /// An object in a line.
    case json
    /// Time, level, message and fields for people.
    case plain
  }

  /// The part that copies of a log share.
  private final class Core: Sendable {
    /// The level, changed from any thread.
    let level: Atomic<Int>
    /// Whether lines are for people.
    let isPlain: Bool
    /// The clock of the lines.
    let clock: any WallClock
    /// The receiver of whole lines, called on the thread that logs.
    let output: @Sendable ([UInt8]) -> Void

    /// A core for one log and its copies.
    init(
      level: LogLevel, isPlain: Bool, clock: any WallClock, output: @escaping @Sendable ([UInt8]) -> Void
    ) {
      self.level = Atomic(level.rawValue)
      self.isPlain = isPlain
      self.clock = clock
      self.output = output
    }
  }

  /// The level and the output.
  private let core: Core
  /// The fields in front of those of each line.
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

  /// The level of this log and of all its copies: lines of a less important level are not written.
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

  /// A line of level ``LogLevel/error``. Field names are camel case; secrets go in as ``Redacted``.
  public func error(_ message: @autoclosure () -> String, _ fields: KeyValuePairs<String, LogValue> = [:]) {
    write(.error, message: message, fields: fields)
  }

  /// A line of level ``LogLevel/warning``.
  public func warning(_ message: @autoclosure () -> String, _ fields: KeyValuePairs<String, LogValue> = [:]) {
    write(.warning, message: message, fields: fields)
  }

  /// A line of level ``LogLevel/info``.
  public func info(_ message: @autoclosure () -> String, _ fields: KeyValuePairs<String, LogValue> = [:]) {
    write(.info, message: message, fields: fields)
  }

  /// A line of level ``LogLevel/debug``; message and fields are made only when it is written.
  public func debug(
    _ message: @autoclosure () -> String, _ fields: @autoclosure () -> KeyValuePairs<String, LogValue> = [:]
  ) {
    guard level >= .debug else { return }
    write(.debug, message: message, fields: fields())
  }

  /// Writes a line of that level; message and fields are not made for one that is not written.
  private func write(
    _ level: LogLevel, message: () -> String, fields: KeyValuePairs<String, LogValue>
  ) {
    guard level <= self.level else { return }
    let line = LogLine(
      time: core.clock.now(), level: level, message: message(),
      fields: self.fields + fields.map { ($0.key, $0.value) })
    core.output(core.isPlain ? line.plain : line.json)
  }
}

/// How important a line is, the most important first.
public enum LogLevel: Int, Sendable, CaseIterable, Comparable {
  /// An operator has to act.
  case error
  /// Something was wrong, and the program dealt with it.
  case warning
  /// An event that operators want to know of on a quiet day.
  case info
  /// A detail for developers.
  case debug

  /// `error`, `warning`, `info` or `debug`.
  public init?(name: String) {
    guard let level = Self.allCases.first(where: { $0.name == name }) else { return nil }
    self = level
  }

  /// `error`, `warning`, `info` or `debug`.
  public var name: String {
    switch self {
    case .error: "error"
    case .warning: "warning"
    case .info: "info"
    case .debug: "debug"
    }
  }

  /// Lower is more important: `error < debug`.
  public static func < (left: LogLevel, right: LogLevel) -> Bool { left.rawValue < right.rawValue }
}

/// The value of a field of a log line.
public enum LogValue: Hashable, Sendable {
  /// A text, cut when it is written.
  case text(String)
  /// A whole number.
  case integer(Int64)
  /// A number, written as null where it is not finite.
  case number(Double)
  /// A truth value.
  case boolean(Bool)
  /// No value.
  case null
}

extension LogValue {
  /// A text, cut at 512 bytes when it is written.
  public init(_ text: String) { self = .text(text) }
  /// A text, or null.
  public init(_ text: String?) { self = text.map { .text($0) } ?? .null }
  /// A whole number; one beyond an Int64 becomes the nearest.
  public init(_ value: some BinaryInteger) { self = .integer(Int64(clamping: value)) }
  /// A number; one that is not finite is written as null.
  public init(_ value: Double) { self = .number(value) }
  /// True or false.
  public init(_ value: Bool) { self = .boolean(value) }
  /// The error's description.
  public init(_ error: any Error) { self = .text("\(error)") }
  /// Seconds with milliseconds.
  public init(_ duration: Duration) { self = .number(Double(duration.milliseconds) / 1000) }
  /// The value's description, such as that of an identifier.
  public init(_ value: some CustomStringConvertible) { self = .text(value.description) }
}

extension LogValue: ExpressibleByStringInterpolation, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
  ExpressibleByBooleanLiteral, ExpressibleByNilLiteral
{
  /// A text.
  public init(stringLiteral value: String) { self = .text(value) }
  /// A whole number.
  public init(integerLiteral value: Int64) { self = .integer(value) }
  /// A number.
  public init(floatLiteral value: Double) { self = .number(value) }
  /// True or false.
  public init(booleanLiteral value: Bool) { self = .boolean(value) }
  /// Null.
  public init(nilLiteral: ()) { self = .null }
}
