/// The bar on the program's icon (`com.canonical.Unity.LauncherEntry`): the downloads under way together. Pure.
public struct LauncherProgress: Hashable, Sendable {
  /// The part that has come, 0 to 1, in hundredths; nil for no bar.
  public private(set) var shown: Int?
  private var downloads: [AgentObject: (verified: UInt64, total: UInt64)] = [:]

  /// Without downloads.
  public init() {}

  /// How many downloads run.
  public var count: Int { downloads.count }

  /// A download is so now; nil bytes where it does not run. Returns whether the bar looks otherwise than before.
  public mutating func update(_ name: AgentObject, _ bytes: (verified: UInt64, total: UInt64)?) -> Bool {
    guard downloads[name] != nil || downloads.count < 64 else { return false }
    let before = (shown, downloads.count)
    downloads[name] = bytes
    return settle(from: before)
  }

  /// Nothing of that agent runs, as far as is known. Returns whether the bar looks otherwise than before.
  public mutating func clear(_ place: AgentPlace) -> Bool {
    let before = (shown, downloads.count)
    downloads = downloads.filter { $0.key.place != place }
    return settle(from: before)
  }

  private mutating func settle(from before: (Int?, Int)) -> Bool {
    let total = downloads.values.reduce(into: 0.0) { $0 += Double($1.total) }
    let verified = downloads.values.reduce(into: 0.0) { $0 += Double(min($1.verified, $1.total)) }
    shown = downloads.isEmpty ? nil : total > 0 ? Int(verified / total * 100) : 0
    return before != (shown, downloads.count)
  }

  /// Whether both show the same.
  public static func == (left: LauncherProgress, right: LauncherProgress) -> Bool {
    left.shown == right.shown && left.count == right.count
  }

  /// By what is shown.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(shown)
    hasher.combine(count)
  }
}
