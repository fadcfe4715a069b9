import Files
import PullboxTesting
import ServiceRuntime
import SystemCalls
import Testing

@Suite("State directories")
struct StateDirectoryTests {
  private let directory: TemporaryDirectory

  init() throws {
    directory = try TemporaryDirectory()
  }

  @Test("a state directory is made for its owner's eyes only")
  func made() throws {
    let path = directory.path("a/state")
    let lock = try StateDirectory.claim(path)
    #expect(try FileSystem.status(of: path)?.permissions == 0o700)
    _ = consume lock
  }

  @Test("it is one process's until that lets go, and the refusal names it")
  func exclusive() throws {
    let path = directory.path("state")
    let lock = try StateDirectory.claim(path)
    let error = #expect(throws: StateDirectoryError.self) { _ = try StateDirectory.claim(path) }
    #expect(error?.code == .inUse)
    #expect(error?.description == "\(path): another process uses it")
    _ = consume lock
    _ = try StateDirectory.claim(path)
  }
}
