import Commerce
import Testing

@Suite("Versions of applications") struct ApplicationVersionTests {
  @Test(
    "numbers are compared one by one, whatever their length and the zeros before them",
    arguments: [
      ("1.1.9", "1.2"), ("1.9", "1.10"), ("2023.12.31", "2024.01.05"), ("1", "1.0.1"),
      ("20240105123", "202401051230"), ("4294967295", "4294967296"), ("0.9", "1"),
    ])
  func order(lower: String, higher: String) throws {
    let (lower, higher) = (
      try #require(ApplicationVersion(lower)), try #require(ApplicationVersion(higher))
    )
    #expect(lower < higher && !(higher < lower) && lower != higher)
  }

  @Test(
    "zeros in front and at the end make no other version",
    arguments: [("1.0", "1"), ("1.02", "1.2"), ("0", "0.0.0"), ("007.0", "7")])
  func equal(a: String, b: String) throws {
    #expect(try #require(ApplicationVersion(a)) == #require(ApplicationVersion(b)))
  }

  @Test(
    "what is no numbers between dots is no version",
    arguments: ["", ".", "1.", ".1", "1..2", "1.x", "beta", "-1", "1 ", String(repeating: "1", count: 65)])
  func malformed(text: String) {
    #expect(ApplicationVersion(text) == nil)
  }
}
