package import AgentRecords
package import CoreTypes
package import SystemCalls

/// Whether work waits for the disk or for memory, by the kernel's triggers (Documentation/accounting/psi.rst): nothing wakes up before one
/// fires, and a busy machine is looked at until it has been quiet for ``calm``. Waits of this agent itself do not count.
package struct PressureSource: ConditionSource {
  /// A kind of pressure, and from how much of it on the machine is busy.
  struct Kind: Hashable, Sendable {
    var name: String
    /// Microseconds of waiting in a window of two seconds, which is what an ordinary user may ask for.
    var threshold: Int
  }

  static let kinds = [Kind(name: "io", threshold: 500_000), Kind(name: "memory", threshold: 200_000)]
  static let window = 2_000_000
  /// A busy machine is so until nothing has fired for so long.
  static let calm: Duration = .seconds(10)

  package let name = ConditionSourceName.pressure
  private let directory: String
  private let own: String?
  private let thread: ReadinessThread
  private let clock: any MonotonicClock

  /// - Parameters:
  ///   - directory: `/proc/pressure`, or a tree of the same form.
  ///   - own: the folder of this process's control group, with `io.pressure` and `memory.pressure`; nil where that is not known.
  package init(
    directory: String = "/proc/pressure", own: String?, thread: ReadinessThread, clock: any MonotonicClock
  ) {
    self.directory = directory
    self.own = own
    self.thread = thread
    self.clock = clock
  }

  package func run(_ report: @escaping @Sendable (MachineObservation) async -> Void) async throws {
    var triggers: [Trigger] = []
    var refusal: SystemError?
    for kind in Self.kinds {
      do throws(SystemError) {
        triggers.append(try Trigger(kind, in: directory, own: own))
      } catch {
        refusal = error
      }
    }
    if triggers.isEmpty {
      throw ConditionSourceError(.absent, refusal.map { "\($0)" } ?? "there is no \(directory)")
    }
    await report(MachineObservation { $0.isBusy = false })
    while !Task.isCancelled {
      guard await fires(triggers, atMost: nil) else {
        throw ConditionSourceError(.absent, "the kernel's triggers cannot be waited for")
      }
      await report(MachineObservation { $0.isBusy = true })
      while await fires(triggers, atMost: Self.calm) {}
      await report(MachineObservation { $0.isBusy = false })
    }
  }

  /// Whether others wait on for a window after one of them has fired, before the time is over.
  private func fires(_ triggers: [Trigger], atMost duration: Duration?) async -> Bool {
    await withTaskGroup(of: Bool.self) { group in
      for trigger in triggers {
        group.addTask { [thread, clock] in
          while await thread.wait(for: trigger.number, .triggered) {
            trigger.begin()
            do {
              try await clock.sleep(for: .microseconds(Self.window))
            } catch {
              return false
            }
            if trigger.isOfOthers() { return true }
          }
          return false
        }
      }
      if let duration {
        group.addTask { [clock] in
          // Cancelled when one fired first.
          try? await clock.sleep(for: duration)
          return false
        }
      }
      let first = await group.next() ?? false
      group.cancelAll()
      return first
    }
  }
}

/// One trigger of the kernel, and how long was waited since it fired.
private final class Trigger: Sendable {
  private let descriptor: FileDescriptor
  private let paths: (all: String, own: String?)
  private let counts: PressureCounts

  var number: Int32 { descriptor.number }

  /// Throws where the kernel has none, or does not let this user ask for it.
  init(_ kind: PressureSource.Kind, in directory: String, own: String?) throws(SystemError) {
    paths = ("\(directory)/\(kind.name)", own.map { "\($0)/\(kind.name).pressure" })
    descriptor = try FileDescriptor.open(paths.all, .readWrite, options: .doNotWait)
    let text = Array("some \(kind.threshold) \(PressureSource.window)\u{0}".utf8)
    try descriptor.write(text.span)
    counts = PressureCounts(threshold: kind.threshold)
  }

  /// It has fired.
  func begin() {
    counts.begin(all: PressureTotal.read(paths.all), own: paths.own.flatMap(PressureTotal.read))
  }

  /// Whether others have waited long enough since it fired.
  func isOfOthers() -> Bool {
    counts.isOfOthers(all: PressureTotal.read(paths.all), own: paths.own.flatMap(PressureTotal.read))
  }
}
