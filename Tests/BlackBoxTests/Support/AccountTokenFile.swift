import Files
import PullboxTesting
import SystemCalls

/// The file by which an agent is told the token of its account.
struct AccountTokenFile {
  let path: String

  init(_ token: String, in directory: TemporaryDirectory) throws {
    path = directory.path("account-token")
    try DurableFile.write(
      Array("\(token)\n".utf8).span, to: path, permissions: 0o600, ifPresent: .replace)
  }
}
