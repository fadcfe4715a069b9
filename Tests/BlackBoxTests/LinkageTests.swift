import PullboxTesting
import Testing

@Suite("What the executables load")
struct LinkageTests {
  @Test(
    "the agent loads no reader of foreign archives, none of XML and no tables of languages; the command line opens archives"
  )
  func libraries() async throws {
    let agent = try await libraries(of: "pullbox-agent")
    #expect(agent.contains { $0.hasPrefix("libcurl.so") })
    for unwanted in [
      "libarchive.so", "libxml2.so", "libFoundationXML.so", "libFoundation.so",
      "libFoundationInternationalization.so", "lib_FoundationICU.so",
    ] {
      #expect(!agent.contains { $0.hasPrefix(unwanted) }, "\(unwanted)")
    }
    let packer = try await libraries(of: "pullbox")
    #expect(packer.contains { $0.hasPrefix("libarchive.so") })
  }

  /// The names of all libraries that the dynamic linker loads for a program, those of its libraries included.
  private func libraries(of program: String) async throws -> [Substring] {
    let outcome = try await Executables.run(
      "/usr/bin/ldd", [Executables.path(program)], in: try TemporaryDirectory())
    try #require(outcome.succeeded)
    return outcome.output.split(separator: "\n").compactMap { line in
      line.split(whereSeparator: \.isWhitespace).first
    }
  }
}
