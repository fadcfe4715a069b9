import CoreTypes
import Foundation
import Testing

@Suite struct ByteCountTests {
  @Test(
    "people read one decimal and a binary unit",
    arguments: [
      (0, "0 B"), (17, "17 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (1075, "1.0 KiB"), (1076, "1.1 KiB"),
      (1536, "1.5 KiB"), (1_048_524, "1023.9 KiB"), (1_048_525, "1.0 MiB"), (1_048_576, "1.0 MiB"),
      (2_040_109_466, "1.9 GiB"), (2_147_483_648, "2.0 GiB"), (1_099_511_627_776, "1.0 TiB"),
      (1_125_899_906_842_624, "1.0 PiB"), (.max, "8192.0 PiB"), (-1, "-1 B"), (-1536, "-1.5 KiB"),
      (.min, "-8192.0 PiB"),
    ] as [(Int64, String)])
  func text(count: Int64, text: String) {
    #expect(ByteCount(rawValue: count).description == text)
  }

  @Test("units are powers of 1024") func units() {
    #expect(ByteCount.kibibytes(3).rawValue == 3072)
    #expect(ByteCount.mebibytes(1).rawValue == 1_048_576)
    #expect(ByteCount.gibibytes(2).rawValue == 2_147_483_648)
  }

  @Test("lengths add, subtract and compare") func arithmetic() {
    var length = ByteCount(5) + ByteCount(7)
    length += ByteCount(1)
    #expect(length - ByteCount(3) == ByteCount(10))
    #expect(ByteCount.zero < length)
  }

  @Test("in JSON it is a number") func json() throws {
    let data = try JSONEncoder().encode([ByteCount.gibibytes(2)])
    #expect(String(decoding: data, as: UTF8.self) == "[2147483648]")
    #expect(try JSONDecoder().decode([ByteCount].self, from: data) == [.gibibytes(2)])
  }
}
