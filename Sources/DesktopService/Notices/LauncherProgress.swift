/// The bar on the program's icon (`com.canonical.Unity.LauncherEntry`): the downloads under way together. Pure.
public struct LauncherProgress: Hashable, Sendable {
  /// The part that has come, 0 to 1, in hundredths; nil for no bar.
  public private(set) var shown: Int?
  private var downloads: [String: (verified: UInt64, total: UInt64)] = [:]

  /// Without downloads.
  public init() {}

  /// How many downloads run.
  public var count: Int { downloads.count }

  /// A download is so now; nil bytes where it does not run. Returns whether the bar looks otherwise than before.
  public mutating func update(_ id: String, _ bytes: (verified: UInt64, total: UInt64)?) -> Bool {
    let before = (shown, downloads.count)
    guard downloads[id] != nil || downloads.count < 64 else { return false }
    downloads[id] = bytes
    let total = downloads.values.reduce(into: 0.0) { $0 += Double($1.total) }
    let verified = downloads.values.reduce(into: 0.0) { $0 += Double(min($1.verified, $1.total)) }
    shown = downloads.isEmpty ? nil : total > 0 ? Int(verified / total * 100) : 0
    return before != (shown, downloads.count)
  }

  /// Nothing runs, as far as is known. Returns whether the bar looks otherwise than before.
  public mutating func clear() -> Bool {
    let before = shown
    downloads = [:]
    shown = nil
    return before != nil
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
