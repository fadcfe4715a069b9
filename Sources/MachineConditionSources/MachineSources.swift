import AgentRecords
package import CoreTypes
import Glibc
package import ServiceRuntime
import SystemCalls

/// The sources of the machine that this process runs on.
package enum MachineSources {
  /// All of them; what this machine does not have says so when it is run. None where the kernel has no descriptor left to wait with.
  package static func all(clock: any MonotonicClock, log: Log) -> [any ConditionSource] {
    let thread: ReadinessThread
    do {
      thread = try ReadinessThread(name: "conditions")
    } catch {
      log.warning("the conditions of the machine cannot be watched", ["error": LogValue(error)])
      return []
    }
    return [
      NetlinkSource(thread: thread, clock: clock), PowerSupplySource(thread: thread, clock: clock),
      PressureSource(own: ownControlGroup, thread: thread, clock: clock),
    ]
  }

  /// The folder of this process's control group, where it has one of its own (cgroups(7), version 2).
  private static var ownControlGroup: String? {
    guard let bytes = try? FileSystem.read("/proc/self/cgroup", upTo: .kibibytes(16)) else { return nil }
    let line = String(decoding: bytes, as: UTF8.self).split(separator: "\n").first { $0.hasPrefix("0::/") }
    guard let path = line?.dropFirst("0::".count), path != "/", !path.contains("..") else { return nil }
    return "/sys/fs/cgroup\(path)"
  }
}
