import CLinux
import CoreTypes
import Files
import Glibc
import PullboxTesting
import ServiceRuntime
import SystemCalls
import Testing

struct ServiceFileTests {
  @Test("a secret is made once, readable by its owner alone, and found again")
  func secret() throws {
    let directory = try TemporaryDirectory()
    let path = directory.path("key")
    #expect(try SecretFile.read(path) == nil)
    #expect(try SecretFile.readOrCreate(path, make: { [1, 2, 3] }).revealed == [1, 2, 3])
    #expect(try FileSystem.status(of: path)?.permissions == 0o600)
    #expect(try SecretFile.readOrCreate(path, make: { [4] }).revealed == [1, 2, 3])
    #expect(try FileSystem.list(directory.path).map(\.name) == ["key"])
  }

  @Test("a secret that others may read is refused", arguments: [0o640, 0o604, 0o620, 0o644] as [UInt32])
  func exposedSecret(permissions: UInt32) throws {
    let directory = try TemporaryDirectory()
    let path = directory.path("key")
    _ = try SecretFile.readOrCreate(path, make: { [1] })
    #expect(unsafe chmod(path, permissions) == 0)
    let error = try #require(throws: SecretFileError.self) { try SecretFile.read(path) }
    #expect(error.path == path)
  }

  @Test("an empty secret, a link and a directory are refused")
  func strangeSecrets() throws {
    let directory = try TemporaryDirectory()
    let empty: [UInt8] = []
    try DurableFile.write(empty.span, to: directory.path("empty"), permissions: 0o600)
    try FileSystem.createDirectory(directory.path("directory"), permissions: 0o700)
    _ = try SecretFile.readOrCreate(directory.path("key"), make: { [1] })
    #expect(unsafe symlink(directory.path("key"), directory.path("link")) == 0)
    for name in ["empty", "directory", "link"] {
      #expect(throws: SecretFileError.self) { try SecretFile.read(directory.path(name)) }
    }
  }

  @Test("a secret that cannot be made is an error, and leaves no file")
  func unmadeSecret() throws {
    struct NoRandomness: Error {}
    let directory = try TemporaryDirectory()
    #expect(throws: SecretFileError.self) {
      try SecretFile.readOrCreate(directory.path("key"), make: { throw NoRandomness() })
    }
    #expect(try FileSystem.list(directory.path).isEmpty)
  }

  @Test("the ready file holds addresses and process id, and a stale one goes")
  func readyFile() throws {
    let directory = try TemporaryDirectory()
    let file = ReadyFile(path: directory.path("ready"))
    try file.removeStale()
    try file.write(addresses: ["127.0.0.1:8080", "unix:/run/x"])
    let text = try FileSystem.read(directory.path("ready"), upTo: .kibibytes(1))
    #expect(
      String(decoding: text, as: UTF8.self)
        == "{\"addresses\":[\"127.0.0.1:8080\",\"unix:/run/x\"],\"pid\":\(getpid())}\n")
    try file.removeStale()
    #expect(try FileSystem.list(directory.path).isEmpty)
  }

  @Test("the service manager hears at a path and at an abstract name", arguments: [false, true])
  func notifier(isAbstract: Bool) throws {
    let directory = try TemporaryDirectory()
    let path = directory.path("notify")
    let name = isAbstract ? "@" + path : path
    let number = try SystemCall.run("socket") { socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0) }
    let receiver = FileDescriptor(takingOwnershipOf: number)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let bytes = (isAbstract ? [0] : []) + Array(path.utf8)
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: bytes) }
    try SystemCall.run("bind") {
      unsafe withUnsafePointer(to: &address) { address in
        unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
          unsafe bind(receiver.number, address, socklen_t(2 + bytes.count + (isAbstract ? 0 : 1)))
        }
      }
    }
    let notifier = try #require(ServiceManagerNotifier(environment: ["NOTIFY_SOCKET": name]))
    try notifier.notify("READY=1")
    var buffer = [UInt8](repeating: 0, count: 64)
    let count = unsafe recv(receiver.number, &buffer, buffer.count, Int32(MSG_DONTWAIT))
    #expect(String(decoding: buffer.prefix(max(0, count)), as: UTF8.self) == "READY=1")
  }

  @Test("without a service manager there is no notifier")
  func noNotifier() throws {
    #expect(ServiceManagerNotifier(environment: [:]) == nil)
    #expect(ServiceManagerNotifier(environment: ["NOTIFY_SOCKET": "relative"]) == nil)
    let gone = try #require(ServiceManagerNotifier(environment: ["NOTIFY_SOCKET": "/nonexistent/socket"]))
    #expect(throws: SystemError.self) { try gone.notify("READY=1") }
    let long = try #require(
      ServiceManagerNotifier(environment: ["NOTIFY_SOCKET": "/" + String(repeating: "a", count: 200)]))
    #expect(throws: SystemError.self) { try long.notify("READY=1") }
  }
}
