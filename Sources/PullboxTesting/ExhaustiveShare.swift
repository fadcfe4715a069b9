internal import Glibc

/// The cases of an exhaustive test that one run tries. Every share has the first case and the last one; each of the others is in
/// exactly one share.
///
/// Two variables of the environment choose the share; `scripts/test` sets them. `PULLBOX_TEST_SHARE` is `1/8` for the first of
/// eight shares, and `1/1` for all cases. With `PULLBOX_TEST_SEED`, the hash of a commit or another number in hexadecimal digits,
/// it is the share that lies so many further, so that commits take turns. Without both, as in an editor, it is the first of eight.
public struct ExhaustiveShare: Hashable, Sendable {
  /// The share that the environment of this process asks for.
  public static let environment = ExhaustiveShare(
    share: unsafe getenv("PULLBOX_TEST_SHARE").map { unsafe String(cString: $0) },
    seed: unsafe getenv("PULLBOX_TEST_SEED").map { unsafe String(cString: $0) })

  /// The number of shares that together are all cases.
  public let count: Int
  /// The place of this share among them, counted from 0.
  public let place: Int
  /// Whether the run takes the time for every variant of a case: it was asked for all cases, or for a share by its number alone.
  public let isThorough: Bool
  /// The place in the order of variants. Runs with other seeds begin at other variants.
  private let turn: Int

  /// The share that the texts of the two variables choose.
  public init(share: String?, seed: String?) {
    let numbers = share.map { text in text.split(separator: "/").compactMap { Int($0) } } ?? [1, 8]
    precondition(
      numbers.count == 2 && numbers[0] >= 1 && numbers[0] <= numbers[1],
      "PULLBOX_TEST_SHARE is \(share ?? "")")
    // Fewer digits than would overflow with the place.
    let steps = seed.map { text in Int(text.prefix(14), radix: 16) } ?? 0
    guard let steps, steps >= 0 else { preconditionFailure("PULLBOX_TEST_SEED is \(seed ?? "")") }
    count = numbers[1]
    place = (numbers[0] - 1 + steps) % count
    turn = steps / count
    isThorough = count == 1 || (share != nil && seed == nil)
  }

  /// Whether the case with that index, counted from 0, is tried even if it is not the last one.
  public func takes(_ index: Int) -> Bool { index == 0 || index % count == place }

  /// The cases that are tried, in their order.
  public func elements<Cases: Collection>(of cases: Cases) -> [Cases.Element] {
    let last = cases.count - 1
    return cases.enumerated().filter { takes($0.offset) || $0.offset == last }.map(\.element)
  }

  /// The variants in which the case with that index is tried: all of them in a thorough run, else one, and another one in the next
  /// case of the share. The seeds below `count * variants.count` bring each case in each variant once.
  public func variants<Variant>(_ variants: [Variant], at index: Int) -> [Variant] {
    isThorough || variants.isEmpty ? variants : [variants[(index / count + turn) % variants.count]]
  }

  /// Tries the cases of which only a try beyond the last one tells how many there are: `body` answers nil for a case that there is,
  /// else the number of cases. Returns that number, once the last case has been tried as well.
  @discardableResult
  public func sweep(_ body: (Int) async throws -> Int?) async rethrows -> Int {
    var index = 0
    while true {
      if takes(index), let found = try await body(index) {
        let last = found - 1
        if last >= 0, last >= index || !takes(last) { _ = try await body(last) }
        return found
      }
      index += 1
    }
  }
}
