import Files
import Glibc
import PullboxTesting
import ServiceRuntime
import SystemCalls
import Testing

@testable import ObjectStore

struct ObjectStoreCredentialsTests {
  private func file(_ text: String, permissions: UInt32 = 0o600) throws -> (TemporaryDirectory, String) {
    let directory = try TemporaryDirectory()
    let path = directory.path("key")
    try DurableFile.write(Array(text.utf8).span, to: path, permissions: permissions)
    return (directory, path)
  }

  private func read(_ text: String) throws -> ObjectStoreCredentials {
    let (directory, path) = try file(text)
    return try withExtendedLifetime(directory) { try ObjectStoreCredentials(file: path) }
  }

  @Test(
    "a key file is a JSON object or two lines, and keys may hold a colon",
    arguments: [
      #"{"accessKey": "test:tester", "secretKey": "se/cr+et"}"#,
      "\n  {\"secretKey\": \"se/cr+et\", \"accessKey\": \"test:tester\", \"comment\": 1}\n",
      "test:tester\nse/cr+et\n", "test:tester\r\nse/cr+et\r\n", "  test:tester \n\n\tse/cr+et",
    ])
  func forms(text: String) throws {
    let credentials = try read(text)
    #expect(credentials.accessKey == "test:tester")
    #expect(credentials.secretKey.revealed == "se/cr+et")
    #expect(credentials.sessionToken == nil)
  }

  @Test(
    "temporary keys have a session token",
    arguments: [#"{"accessKey": "a", "secretKey": "b", "sessionToken": "c=="}"#, "a\nb\nc==\n"])
  func sessionToken(text: String) throws {
    #expect(try read(text).sessionToken?.revealed == "c==")
  }

  @Test(
    "what is neither form is refused, and the error quotes nothing of it",
    arguments: [
      "hidden", "hidden:hidden", "a hidden", "{\"accessKey\": \"hidden\"}",
      "{\"accessKey\": 1, \"secretKey\": \"hidden\"}",
      "{hidden}", "a\nb\nc\nhidden", "a,hidden\nb", "a\nhid den",
      "{\"accessKey\": \"\", \"secretKey\": \"hidden\"}",
      "{\"accessKey\": \"a\", \"secretKey\": \"hidden\\n\"}", "ä\nhidden",
    ])
  func malformed(text: String) throws {
    let error = try #require(throws: SecretFileError.self) { try read(text) }
    #expect(!"\(error)".contains("hidden"))
    #expect("\(error)".contains("it holds neither a JSON object"))
  }

  @Test("a file has at most 4 KiB")
  func length() throws {
    let secret = String(repeating: "s", count: 4096 - 2)
    #expect(try read("a\n\(secret)").secretKey.revealed == secret)
    let error = try #require(throws: SecretFileError.self) { try read("a\n\(secret)s") }
    #expect(error.message == "it is longer than 4.0 KiB")
  }

  @Test(
    "a file that others may read is refused, as is one that is missing", arguments: [UInt32(0o640), 0o604])
  func permissions(mode: UInt32) throws {
    let (directory, path) = try file("a\nb\n")
    try SystemCall.run("chmod") { unsafe chmod(path, mode) }
    #expect(throws: SecretFileError.self) { try ObjectStoreCredentials(file: path) }
    let error = try #require(throws: SecretFileError.self) {
      try ObjectStoreCredentials(file: directory.path("other"))
    }
    #expect(error.message == "there is no such file")
  }

  @Test("however they are printed, they tell the access key alone")
  func description() throws {
    let credentials = try #require(
      ObjectStoreCredentials(accessKey: "test:tester", secretKey: "hidden", sessionToken: "hidden"))
    #expect("\(credentials)" == "access key test:tester")
    var dumped = ""
    dump(credentials, to: &dumped)
    #expect(!dumped.contains("hidden"))
    #expect(!String(reflecting: credentials).contains("hidden"))
  }
}
