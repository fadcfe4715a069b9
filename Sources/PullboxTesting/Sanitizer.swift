import Foundation

/// The sanitizer that the tests, and the programs that they start, are built for.
public enum Sanitizer {
  /// Whether they are built for one: then it allocates, in memory and with a thread of its own. `scripts/test --sanitize` tells by
  /// `PULLBOX_SANITIZER`.
  public static let isUsed = ProcessInfo.processInfo.environment["PULLBOX_SANITIZER"] != nil
}
