internal import Glibc

/// Which calls of a run are tried by a test that lets one call after another fail. `PULLBOX_CRASH_SWEEP` in the environment
/// says it: `all`, or a part of it, such as `all:3/8` for the third of eight that together are all. Without it every eighth call
/// is tried.
public struct FaultSweep: Sendable {
  /// Every call, and each with every fault, even if only a part of them is this run's.
  public let triesAll: Bool
  /// The first call, counted from 0.
  public let first: Int
  /// From one call to the next.
  public let stride: Int

  /// The sweep that the environment of this process asks for.
  public static let environment = FaultSweep(
    unsafe getenv("PULLBOX_CRASH_SWEEP").map { unsafe String(cString: $0) })

  /// From the variable's text.
  public init(_ text: String?) {
    let words = (text ?? "").split(separator: ":", maxSplits: 1)
    triesAll = words.first == "all"
    let numbers = words.count == 2 ? words[1].split(separator: "/").compactMap { Int($0) } : [1, 1]
    precondition(
      numbers.count == 2 && numbers[0] >= 1 && numbers[0] <= numbers[1],
      "PULLBOX_CRASH_SWEEP is \(text ?? "")")
    first = triesAll ? numbers[0] - 1 : 0
    stride = triesAll ? numbers[1] : 8
  }
}
