import PullboxTesting
import Testing

/// The libraries that an app of the kit has to install.
@Suite("The kit's own needs") struct KitClosureTests {
  /// The dependencies of each target, as Package.swift lists them.
  private static func dependencies() throws -> [String: [String]] {
    let text = try RepositoryFile("Package.swift").text
    let target =
      /\.(?:target|executableTarget|systemLibrary)\(\s*name: "(\w[\w-]*)"(?:,\s*dependencies: \[([^\]]*)\])?/
    var found: [String: [String]] = [:]
    for match in text.matches(of: target) {
      found[String(match.1)] = (match.2 ?? "").matches(of: /"([\w-]+)"/).map { String($0.1) }
    }
    return found
  }

  @Test(
    "an app of the kit alone builds seven modules beside it, and needs no zlib, libarchive, libpq nor SQLite")
  func closure() throws {
    let dependencies = try Self.dependencies()
    var closure: Set<String> = []
    var rest = ["PullboxKit"]
    while let next = rest.popLast() {
      guard closure.insert(next).inserted else { continue }
      rest += try #require(dependencies[next], "\(next) is no target of Package.swift")
    }
    // docs/decisions/0070-an-app-builds-what-an-app-needs.md.
    #expect(
      closure == [
        "PullboxKit", "PullboxAPI", "PullboxAPIClient", "Commerce", "HTTPClient", "Crypto", "SystemCalls",
        "CoreTypes", "CCurl", "CLinux", "COpenSSL", "CSodium", "CTLS",
      ])
  }
}
