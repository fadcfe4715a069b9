internal import CoreTypes
public import ServiceRuntime

/// The lines of a log, to be waited for.
public final class LogLines: Sendable {
  /// All lines so far.
  private let lines = Locked<[String]>([])
  /// Raised at each line.
  private let news = AsyncSignal()

  /// No lines so far.
  public init() {}

  /// A log whose lines these are.
  public func log(_ level: LogLevel = .info) -> Log {
    Log(level: level, format: .json) { [lines, news] line in
      let text = String(decoding: line, as: UTF8.self)
      lines.withLock { $0.append(text) }
      news.signal()
    }
  }

  /// The first line with all of `words`; waits until there is one, or the task is cancelled.
  public func first(with words: String...) async -> String {
    while !Task.isCancelled {
      if let line = lines.current.first(where: { line in words.allSatisfy(line.contains) }) { return line }
      await news.wait(atMost: nil, clock: SystemMonotonicClock())
    }
    return ""
  }
}
