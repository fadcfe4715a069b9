@testable import MessageBus

/// Names, paths and signatures that other programs on a bus send, each line of an input one of them: what is taken is what a second reading of
/// the D-Bus specification takes, an identifier comes back from the path that it makes, and no word leaves the quotes of a rule.
enum BusProperties {
  static func check(_ bytes: [UInt8]) -> String? {
    let lines = bytes.prefix(1200).split(separator: 0x0A, omittingEmptySubsequences: false).prefix(8)
    for line in lines {
      let text = String(decoding: line, as: UTF8.self)
      if let broken = checkNames(text) ?? checkPath(text) ?? checkSignature(text) ?? checkRule(text) {
        return broken
      }
    }
    return nil
  }

  /// Signs of names, by their bytes.
  private struct Signs {
    private var bytes = [Bool](repeating: false, count: 256)

    init(_ text: String) { for byte in text.utf8 { bytes[Int(byte)] = true } }

    func contains(_ byte: UInt8) -> Bool { bytes[Int(byte)] }
  }

  private static let letters = Signs("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_")
  private static let known = Signs("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789")
  private static let dashed = Signs("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_-")
  private static let all = Signs("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789-")

  /// Words of such bytes with one sign between them, all but the first byte of each of any of them, that one of `first`.
  private static func areWords(
    _ text: some Collection<UInt8>, between sign: UInt8, first: Signs, others: Signs
  ) -> Bool {
    text.split(separator: sign, omittingEmptySubsequences: false).allSatisfy { word in
      word.first.map(first.contains) == true && word.dropFirst().allSatisfy(others.contains)
    }
  }

  /// A unique name may have digits first ("Bus names"), that of an interface has no dashes ("Interface names").
  private static func checkNames(_ text: String) -> String? {
    let dot: UInt8 = 0x2E
    let isUnique = text.utf8.first == 0x3A
    let bytes = Array(text.utf8.dropFirst(isUnique ? 1 : 0))
    let isName =
      text.utf8.count <= 255 && bytes.contains(dot)
      && areWords(bytes, between: dot, first: isUnique ? all : dashed, others: all)
    guard (BusName(text) != nil) == isName else {
      return "\(text.debugDescription) is \(isName ? "no" : "a") name"
    }
    let isInterface =
      text.utf8.count <= 255 && bytes.contains(dot) && !isUnique
      && areWords(bytes, between: dot, first: letters, others: known)
    return (BusInterface(text) != nil) == isInterface
      ? nil : "\(text.debugDescription) is \(isInterface ? "no" : "an") interface"
  }

  private static func checkPath(_ text: String) -> String? {
    let isPath =
      text.utf8.count <= BusPath.maximumLength && text.utf8.first == 0x2F
      && (text.utf8.count == 1
        || areWords(Array(text.utf8.dropFirst()), between: 0x2F, first: known, others: known))
    let path = BusPath(text)
    guard (path != nil) == isPath else { return "\(text.debugDescription) is \(isPath ? "no" : "a") path" }
    for parent in [path, "/", "/a/b"].compactMap(\.self) {
      guard let child = parent.appending(identifier: text) else { continue }
      guard BusPath(child.description) == child, child.isWithin(parent),
        child.identifier(below: parent).map({ $0.utf8.elementsEqual(text.utf8) }) == true
      else { return "\(text.debugDescription) does not come back from \(child)" }
    }
    return nil
  }

  /// By shifting and reducing: `b` stands for a type that keys may have, `x` for any other.
  private static func checkSignature(_ text: String) -> String? {
    // Any longer one may be deeper than is taken.
    guard text.utf8.count <= BusType.maximumDepth else { return nil }
    var stack: [Character] = []
    for character in text {
      switch character {
      case "v": stack.append("x")
      case ")":
        var count = 0
        while let last = stack.last, "bx".contains(last) {
          stack.removeLast()
          count += 1
        }
        guard count > 0, stack.popLast() == "(" else { return compare(text, count: nil) }
        stack.append("x")
      case "}":
        guard let value = stack.popLast(), "bx".contains(value), stack.popLast() == "b",
          stack.popLast() == "{", stack.popLast() == "a"
        else { return compare(text, count: nil) }
        stack.append("x")
      case "a", "(", "{": stack.append(character)
      default:
        guard "ybnqiuxtdsogh".contains(character) else { return compare(text, count: nil) }
        stack.append("b")
      }
      while let last = stack.last, "bx".contains(last), stack.dropLast().last == "a" {
        stack.removeLast(2)
        stack.append("x")
      }
    }
    return compare(text, count: stack.allSatisfy { "bx".contains($0) } ? stack.count : nil)
  }

  private static func compare(_ text: String, count: Int?) -> String? {
    let types = BusType.list(text)
    guard types?.count == count, types.map({ $0.map(\.description).joined() == text }) ?? true else {
      return "\(text.debugDescription) has the types \(types ?? []), and \(count ?? 0) by its grammar"
    }
    return nil
  }

  private static func checkRule(_ text: String) -> String? {
    let rule = BusMatch(sender: "a.b", .signals(path: "/c", member: text)).rule ?? ""
    let isMember =
      text.utf8.count <= 255
      && areWords(Array(text.utf8), between: 0x2E, first: letters, others: known)
      && !text.utf8.contains(0x2E)
    let expected = "type='signal',sender='a.b',path='/c'" + (isMember ? ",member='\(text)'" : "")
    return rule == expected ? nil : "a rule of \(rule.debugDescription)"
  }
}
