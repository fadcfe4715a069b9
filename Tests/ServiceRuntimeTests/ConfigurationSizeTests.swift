import CoreTypes
import ServiceRuntime
import Testing

@Suite("Sizes in a configuration")
struct ConfigurationSizeTests {
  @Test(
    "rates and bytes are read as people write them",
    arguments: [
      ("1024", 1024), ("64KiB", 65_536), ("1.5 MiB", 1_572_864), ("2GiB", 2_147_483_648),
      ("10MB", 10_000_000),
    ] as [(String, Int64)])
  func byteCounts(text: String, expected: Int64) {
    #expect(ConfigurationSize(text)?.bytes.rawValue == expected)
  }

  @Test(
    "a text that is no number of bytes is refused",
    arguments: ["", "MiB", "-1", "1.2.3", "5 stones", "1e99GiB"])
  func noByteCounts(text: String) {
    #expect(ConfigurationSize(text) == nil)
  }
}
