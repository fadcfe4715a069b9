import Foundation
import Testing

@testable import PullboxAPI

/// Compares the samples with the sources, so that no type is added without one.
@Suite("Wire types and their samples")
struct WireTypeRegistryTests {
  private struct Declaration {
    var name: String
    var isCodable: Bool
  }

  private static func sources() throws -> [(path: String, text: String)] {
    let root = #filePath.split(separator: "/").dropLast(3).reduce("") { "\($0)/\($1)" }
    return try ["PullboxAPI", "ServiceAPI"].flatMap { module in
      let folder = URL(filePath: "\(root)/Sources/\(module)")
      let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
      return try (files?.allObjects ?? []).compactMap { $0 as? URL }.filter { $0.pathExtension == "swift" }
        .map { ($0.lastPathComponent, try String(contentsOf: $0, encoding: .utf8)) }
    }
  }

  /// The public types that a file declares, by the layout that the formatter gives every file: two spaces a level.
  private static func declarations(in text: String) -> [Declaration] {
    var path: [String] = []
    var found: [Declaration] = []
    for line in text.split(separator: "\n") {
      let level = line.prefix { $0 == " " }.count / 2
      let words = line.split { " :<,{(".contains($0) }
      guard let keyword = words.firstIndex(where: { ["struct", "enum", "class", "actor"].contains($0) }),
        words[..<keyword].allSatisfy({ ["public", "final", "indirect"].contains($0) }),
        words[..<keyword].contains("public"), words.indices.contains(keyword + 1), level <= path.count
      else { continue }
      path = path.prefix(level) + [String(words[keyword + 1])]
      let conformances = words[(keyword + 2)...]
      found.append(
        Declaration(
          name: path.joined(separator: "."),
          isCodable: conformances.contains { $0.hasSuffix("Codable") || $0 == "ListedWords" }))
    }
    return found
  }

  @Test("every public Codable type of both modules has a sample or its words, and no sample is of another")
  func complete() throws {
    let declared = try Self.sources().flatMap { Self.declarations(in: $0.text) }.filter(\.isCodable).map(
      \.name)
    #expect(declared.count >= 50)
    let sampled = WireSample.all.map(\.name) + WireWords.all.map(\.name)
    #expect(declared.sorted() == sampled.sorted())
  }

  @Test(
    "the search finds nested types, generic ones and those that are one text, and leaves out what is not public"
  )
  func search() {
    let text = """
      public struct Outer<Item: Codable & Sendable>: Codable, Sendable {
        public enum State: String, Codable {
          case one
        }
        private enum CodingKeys: CodingKey {
        }
        public struct Plain: Sendable {
          public struct Deep: Hashable, LosslessStringCodable {
          }
        }
      }
      struct Own: Codable {
      }
      """
    let found = Self.declarations(in: text)
    #expect(found.map(\.name) == ["Outer", "Outer.State", "Outer.Plain", "Outer.Plain.Deep"])
    #expect(found.filter(\.isCodable).map(\.name) == ["Outer", "Outer.State", "Outer.Plain.Deep"])
  }

  @Test("the list of problem codes has every code that is declared")
  func problemCodes() throws {
    let text = try #require(try Self.sources().first { $0.path == "ProblemCode.swift" }).text
    let declared = text.split(separator: "\n").count {
      $0.hasPrefix("  public static let") && $0.contains("= ProblemCode(")
    }
    #expect(declared >= 50)
    #expect(ProblemCode.all.count == declared)
    // And ProblemTests has the status of each.
    let words = ProblemTests.others.split { $0 == " " || $0 == "\n" }.map(String.init)
    let tested = words.filter { Int($0) == nil } + ProblemTests.ofDevices.map(\.code)
    #expect(tested.sorted() == ProblemCode.all.map(\.text).sorted())
  }

  @Test(
    "a problem code is lower-case words with hyphens, its status an error but for what is on its way, its title a sentence without a full stop"
  )
  func problemCodeSyntax() {
    #expect(Set(ProblemCode.all.map(\.text)).count == ProblemCode.all.count)
    for code in ProblemCode.all {
      #expect(
        code.text.split(separator: "-", omittingEmptySubsequences: false).allSatisfy { word in
          !word.isEmpty && word.utf8.allSatisfy { (0x61...0x7A).contains($0) }
        }, "\(code.text)")
      // What is on its way is no refusal.
      #expect((400...599).contains(code.status) || code == .notHereYet, "\(code.text)")
      #expect(code.title.first?.isUppercase == true && !code.title.hasSuffix("."), "\(code.text)")
      #expect(ProblemCode(type: "urn:pullbox:problem:\(code.text)") == code)
      #expect(Problem(code).type == "urn:pullbox:problem:\(code.text)")
      #expect(Problem(code).status == code.status)
      #expect(Problem(code).code == code)
    }
  }
}
