import Commerce
import ContentPackage
import ContentPacking
import ServiceRuntime
import Testing

@testable import pullbox

@Suite("Sections that a publisher names")
struct SectionOptionTests {
  private func rules(_ words: String...) throws -> [SectionRules.Rule] {
    let parser = ArgumentParser(PackCommand.description, environment: [:])
    guard case .run(let arguments) = try parser.parse(words + ["--output", "x", "folder"]) else { return [] }
    return try SectionOptions.rules(arguments).rules
  }

  @Test("a section without a policy comes with the rest, another one as its policy says")
  func policies() throws {
    #expect(try rules().isEmpty)
    let rules = try rules(
      "--section", "lang-fr=fr/**", "--section", "hires=hires/**", "--section-policy", "hires=on-demand",
      "--section", "sound=*.mp3", "--section-policy", "sound=prefetch", "--section-title",
      "lang-fr=en:French")
    #expect(rules.map(\.section.tag.description) == ["hires", "lang-fr", "sound"])
    #expect(rules.map(\.section.policy) == [.onDemand, .required, .prefetch])
    #expect(rules[1].section.titles == ["en": "French"])
  }
}
