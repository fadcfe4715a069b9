internal import CoreTypes
internal import Files
internal import SystemCalls

/// Makes inputs out of seeds for the rules that fuzzers hold: the same ones for the same seed.
public struct Mutator {
  /// The source of all choices.
  private var generator: SplitMix
  /// The inputs that are changed.
  private let seeds: [[UInt8]]
  /// The bytes that are put between: a format's own words and signs.
  private let words: [[UInt8]]
  /// Bytes of an input, at most.
  private var maximumLength = 2048

  /// From seeds that are text.
  public init(seed: UInt64, seeds: [String], words: [String]) {
    self.init(seed: seed, seeds: seeds.map { Array($0.utf8) }, words: words.map { Array($0.utf8) })
  }

  /// - Parameters:
  ///   - seeds: inputs that are taken apart; at least one.
  ///   - words: bytes that are put between.
  public init(seed: UInt64, seeds: [[UInt8]], words: [[UInt8]]) {
    generator = SplitMix(seed: seed)
    self.seeds = seeds
    self.words = words
  }

  /// From what `scripts/fuzz` begins with: the files of `Fuzzing/corpus/NAME`, and the words of `Fuzzing/NAME.dict`. Blocks. Throws
  /// `SystemError` where there are none.
  public init(seed: UInt64, corpus name: String) throws {
    let root = #filePath.split(separator: "/").dropLast(3).reduce("") { "\($0)/\($1)" }
    let directory = "\(root)/Fuzzing/corpus/\(name)"
    let seeds = try Directory(opening: directory).entries().map(\.name).sorted().map { file in
      try FileSystem.read("\(directory)/\(file)", upTo: .mebibytes(1))
    }
    let dictionary = try FileSystem.read("\(root)/Fuzzing/\(name).dict", upTo: .mebibytes(1))
    self.init(seed: seed, seeds: seeds, words: dictionary.split(separator: 0x0A).compactMap(Self.word))
    maximumLength = max(maximumLength, 2 * (seeds.map(\.count).max() ?? 0))
  }

  /// The word of a line of libFuzzer's dictionaries: between quotation marks, with `\\`, `\"` and `\xNN`; nil for a line without one.
  private static func word(_ line: ArraySlice<UInt8>) -> [UInt8]? {
    guard let first = line.firstIndex(of: 0x22), let last = line.lastIndex(of: 0x22), first < last else {
      return nil
    }
    var rest = line[(first + 1)..<last]
    var word: [UInt8] = []
    while let byte = rest.popFirst() {
      guard byte == 0x5C, let escaped = rest.popFirst() else {
        word.append(byte)
        continue
      }
      guard escaped == UInt8(ascii: "x") else {
        word.append(escaped)
        continue
      }
      let digits = String(decoding: rest.prefix(2), as: UTF8.self)
      word.append(UInt8(digits, radix: 16) ?? 0)
      rest = rest.dropFirst(2)
    }
    return word
  }

  /// Another input, of at most 2048 bytes, or twice those of the longest file of its corpus.
  public mutating func next() -> [UInt8] {
    var bytes = pick(seeds)
    for _ in 0..<number(below: 5) { mutate(&bytes) }
    return Array(bytes.prefix(maximumLength))
  }

  /// Makes that many inputs, and holds those of the share to a rule. Returns what `check` says of the first that breaks it, with the input as text;
  /// nil where none does.
  public mutating func firstFailure(
    in rounds: Int, share: ExhaustiveShare = .environment, of check: ([UInt8]) -> String?
  ) -> String? {
    for round in 0..<rounds {
      let bytes = next()
      guard share.takes(round), let broken = check(bytes) else { continue }
      return "\(broken): \(String(decoding: bytes, as: UTF8.self).debugDescription)"
    }
    return nil
  }

  /// Zero for a bound that is not positive.
  public mutating func number(below bound: Int) -> Int { Int(generator.next() % UInt64(max(1, bound))) }

  /// Makes one of nine changes: a byte is replaced or one of its bits turned, up to 12 bytes are removed, doubled or
  /// replaced by a word, a word is inserted, the end is cut off or replaced by that of another seed, or a byte is
  /// appended.
  private mutating func mutate(_ bytes: inout [UInt8]) {
    let place = number(below: bytes.count + 1)
    let end = min(bytes.count, place + 1 + number(below: 12))
    switch number(below: 8) {
    case 0 where place < bytes.count: bytes[place] = UInt8(truncatingIfNeeded: generator.next())
    case 1 where place < bytes.count: bytes[place] ^= 1 << UInt8(number(below: 8))
    case 2 where place < end: bytes.removeSubrange(place..<end)
    case 3 where place < end: bytes.insert(contentsOf: bytes[place..<end], at: place)
    case 4: bytes.insert(contentsOf: pick(words), at: place)
    case 5 where place < end: bytes.replaceSubrange(place..<end, with: pick(words))
    case 6: bytes = Array(bytes[..<place])
    case 7:
      let other = pick(seeds)
      bytes = Array(bytes[..<place]) + other[number(below: other.count)...]
    default: bytes.append(UInt8(truncatingIfNeeded: generator.next()))
    }
  }

  /// One of the choices, which must not be empty.
  private mutating func pick(_ choices: [[UInt8]]) -> [UInt8] { choices[number(below: choices.count)] }
}
