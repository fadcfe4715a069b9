import Commerce
import Testing

@testable import AgentRecords

@Suite("Which sections are fetched without being asked for")
struct SectionPreferencesTests {
  private func tag(_ text: String) throws -> SectionTag { try #require(SectionTag(text)) }

  @Test("without anything else the policy says it")
  func policy() throws {
    let preferences = SectionPreferences()
    #expect(preferences.fetches(try tag("sound"), policy: .prefetch, choice: nil))
    #expect(!preferences.fetches(try tag("sound"), policy: .onDemand, choice: nil))
    #expect(preferences.fetches(try tag("lang-fr"), policy: .prefetch, choice: nil))
  }

  @Test(
    "a language's section is fetched for its readers alone",
    arguments: [
      ("lang-fr", "fr-FR", true), ("lang-fr", "fr", true), ("lang-fr", "en-US", false),
      ("lang-pt", "pt_BR", true),
      ("lang-pt-br", "pt-BR", true), ("lang-pt-br", "pt-PT", false), ("lang-f", "fr", false),
    ])
  func language(_ name: String, _ locale: String, _ isFetched: Bool) throws {
    let preferences = SectionPreferences(locale: locale)
    for policy in [SectionPolicy.prefetch, .onDemand] {
      #expect(preferences.fetches(try tag(name), policy: policy, choice: nil) == isFetched)
    }
  }

  @Test("the configuration counts before the language, and a person before the configuration")
  func order() throws {
    let french = try tag("lang-fr")
    let preferences = SectionPreferences(rules: [french: .ask, try tag("hires"): .fetch], locale: "fr-FR")
    #expect(!preferences.fetches(french, policy: .prefetch, choice: nil))
    #expect(preferences.fetches(french, policy: .prefetch, choice: true))
    #expect(preferences.fetches(try tag("hires"), policy: .onDemand, choice: nil))
    #expect(!preferences.fetches(try tag("hires"), policy: .prefetch, choice: false))
  }
}
