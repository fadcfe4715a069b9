import Glibc
import PullboxTesting
import Testing

@testable import Files
@testable import SystemCalls

@Suite("The sandbox of a process")
struct FlatpakSandboxTests {
  private let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  private func write(_ text: String, to name: String) throws {
    let file = try FileDescriptor.open(directory.path(name), .writeOnly, options: [.create, .truncate])
    try file.write(Array(text.utf8).span)
  }

  private func sandbox() throws -> ProcessSandbox { try ProcessEntry(7, in: directory.path).sandbox() }

  @Test(
    "the application is the name in its group of the description, and no other",
    arguments: [
      ("[Application]\nname=com.pullbox.Shelf\nruntime=x", "com.pullbox.Shelf"),
      (
        "[Instance]\nname=com.evil.App\n\n[Application]\nruntime=x\nname=org.example.a_b-c\n",
        "org.example.a_b-c"
      ),
      ("[Instance]\nname=com.evil.App\n", nil), ("[Application]\n[Other]\nname=com.evil.App\n", nil),
      ("[Application]\nname=\n", nil), ("[Application]\nname=com.example./x\n", nil), ("", nil),
    ])
  func description(text: String, application: String?) {
    #expect(FlatpakSandbox.application(of: text.utf8) == application)
  }

  @Test("names of applications are words with dots between them")
  func names() {
    for name in ["a.b", "com.pullbox.Shelf", "org.a._1.B-c"] { #expect(FlatpakSandbox.isApplication(name)) }
    for name in [
      "", "a", "a.", ".a", "a..b", "a.1b", "a.b c", "a.b\u{0}", "a.é",
      String(repeating: "a.", count: 128) + "a",
    ] {
      #expect(!FlatpakSandbox.isApplication(name))
    }
  }

  @Test("a process whose root has a description is in that sandbox, and one whose root has none is in none")
  func roots() throws {
    #expect(throws: SystemError.self) { _ = try ProcessEntry(7, in: directory.path) }
    try FileSystem.createDirectories(directory.path("7"))
    #expect(try sandbox() == .unknown, "it has no root")
    try FileSystem.createDirectories(directory.path("7/root"))
    #expect(try sandbox() == .none)
    try write("[Application]\nname=com.pullbox.Shelf\n", to: "7/root/.flatpak-info")
    #expect(try sandbox() == .application("com.pullbox.Shelf"))
    try write("nothing", to: "7/root/.flatpak-info")
    #expect(try sandbox() == .unknown)
  }

  @Test("a description that is no file of its own is none: a link, a directory, a pipe without a writer")
  func kinds() throws {
    try FileSystem.createDirectories(directory.path("7/root"))
    try write("[Application]\nname=com.pullbox.Shelf\n", to: "other")
    let path = directory.path("7/root/.flatpak-info")
    unsafe #expect(symlink(directory.path("other"), path) == 0)
    #expect(try sandbox() == .unknown)
    try FileSystem.removeFile(path)
    unsafe #expect(mkfifo(path, 0o600) == 0)
    #expect(try sandbox() == .unknown)
    try FileSystem.removeFile(path)
    try FileSystem.createDirectory(path)
    #expect(try sandbox() == .unknown)
  }

  @Test("this process is found as it is, began in the past, and a process that has ended tells nothing")
  func processes() throws {
    let own = try ProcessEntry(getpid())
    let start = own.startTime()
    let began = try #require(start)
    #expect(began <= ProcessEntry.now())
    let sandbox = own.sandbox()
    #expect(sandbox == (FlatpakSandbox.isAround ? .unknown : .none))
    let child = endedProcess()
    #expect(throws: SystemError.self) { _ = try ProcessEntry(child) }
  }

  /// The number of a process that has ended.
  private func endedProcess() -> pid_t {
    var child = pid_t()
    let words: [UnsafeMutablePointer<CChar>?] = unsafe [strdup("true"), nil]
    defer { unsafe words.forEach { unsafe free($0) } }
    unsafe #expect(posix_spawnp(&child, "true", nil, nil, words, environ) == 0)
    var status: Int32 = 0
    unsafe #expect(waitpid(child, &status, 0) == child)
    return child
  }

  @Test("an entry that was opened tells nothing of the process once that has ended")
  func ended() throws {
    var child = pid_t()
    let words: [UnsafeMutablePointer<CChar>?] = unsafe [strdup("sleep"), strdup("600"), nil]
    defer { unsafe words.forEach { unsafe free($0) } }
    unsafe #expect(posix_spawnp(&child, "sleep", nil, nil, words, environ) == 0)
    let entry = try ProcessEntry(child)
    var began = entry.startTime()
    #expect(began != nil)
    kill(child, SIGKILL)
    var status: Int32 = 0
    unsafe #expect(waitpid(child, &status, 0) == child)
    began = entry.startTime()
    let sandbox = entry.sandbox()
    #expect(began == nil && sandbox == .unknown)
  }

  @Test("a descriptor of a process has ended when it can be read")
  func descriptors() throws {
    var ends: [Int32] = [0, 0]
    unsafe #expect(pipe(&ends) == 0)
    let reader = FileDescriptor(takingOwnershipOf: ends[0])
    let writer = FileDescriptor(takingOwnershipOf: ends[1])
    var hasEnded = try reader.hasEnded()
    #expect(!hasEnded)
    try writer.write(Array("x".utf8).span)
    hasEnded = try reader.hasEnded()
    #expect(hasEnded)
  }

  @Test("a descriptor that only names a file is one of that file")
  func pathOnly() throws {
    try write("x", to: "file")
    let file = try FileDescriptor.open(directory.path("file"), .readOnly, options: .pathOnly)
    let kind = try file.status().kind
    #expect(kind == .regular)
  }
}
