import CoreTypes
import Files
import Glibc
import PullboxTesting
import SystemCalls
import Testing

@Suite struct DurableFileTests {
  private typealias Step = FaultyFileOperations.Step
  private let directory: TemporaryDirectory
  private let path: String
  private let old = Array("old".utf8)
  private let new = Array("new content".utf8)

  init() throws {
    directory = try TemporaryDirectory()
    path = directory.path("issue.cbz")
  }

  private func names() throws -> [String] { try FileSystem.list(directory.path).map(\.name).sorted() }

  @Test("a published file holds what was appended, and nothing lies beside it") func publishes() throws {
    var file = try DurableFile(creating: path)
    try file.append(new.span)
    try file.append(old.span)
    #expect(file.length == ByteCount(14))
    try file.publish()
    #expect(try FileSystem.read(path, upTo: .kibibytes(1)) == new + old)
    #expect(try names() == ["issue.cbz"])
  }

  @Test("the order is write, fsync, rename, fsync of the directory") func order() throws {
    let operations = FaultyFileOperations(failing: nil)
    try DurableFile.write(new.span, to: path, operations: operations)
    #expect(operations.steps == [.create, .write, .status, .synchronize, .rename, .synchronizeDirectory])
  }

  @Test(
    "whatever step fails, a new file is not visible and nothing is left",
    arguments: [Step.create, .write, .synchronize, .rename, .synchronizeDirectory])
  func failureOfNew(step: FaultyFileOperations.Step) throws {
    let operations = FaultyFileOperations(failing: step)
    #expect(throws: SystemError.self) {
      try DurableFile.write(new.span, to: path, operations: operations)
    }
    #expect(operations.steps.contains(step))
    #expect(try names() == [])
  }

  @Test(
    "whatever step before the rename fails, the file that was there is untouched",
    arguments: [Step.create, .write, .synchronize, .rename])
  func failureOfReplacement(step: FaultyFileOperations.Step) throws {
    try DurableFile.write(old.span, to: path)
    #expect(throws: SystemError.self) {
      try DurableFile.write(new.span, to: path, operations: FaultyFileOperations(failing: step))
    }
    #expect(try FileSystem.read(path, upTo: .kibibytes(1)) == old)
    #expect(try names() == ["issue.cbz"])
  }

  @Test("after a replacement whose directory could not be synced the new file is whole")
  func unsureReplacement()
    throws
  {
    try DurableFile.write(old.span, to: path)
    #expect(throws: SystemError.self) {
      try DurableFile.write(
        new.span, to: path, operations: FaultyFileOperations(failing: .synchronizeDirectory))
    }
    #expect(try FileSystem.read(path, upTo: .kibibytes(1)) == new)
    #expect(try names() == ["issue.cbz"])
  }

  @Test("a caller whose check fails drops the file, and nothing is left") func dropped() throws {
    struct WrongLength: Error {}
    #expect(throws: WrongLength.self) {
      var file = try DurableFile(creating: path)
      try file.append(new.span)
      throw WrongLength()
    }
    #expect(try names() == [])
  }

  @Test("the caller can read back what it is about to publish") func readsBack() throws {
    var file = try DurableFile(creating: path)
    try file.append(new.span)
    var bytes: [UInt8] = []
    try file.withDescriptor { try $0.read(upTo: 100, at: .zero, into: &bytes) }
    #expect(bytes == new)
  }

  @Test("with .refuse a file that is there stays, and the error says so") func refuses() throws {
    try DurableFile.write(old.span, to: path)
    let error = #expect(throws: SystemError.self) {
      try DurableFile.write(new.span, to: path, ifPresent: .refuse)
    }
    #expect(error?.isFileInTheWay == true)
    #expect(try FileSystem.read(path, upTo: .kibibytes(1)) == old)
    #expect(try names() == ["issue.cbz"])
  }

  @Test(
    "where a rename cannot refuse to replace, the name is asked for first (R11)", arguments: [true, false])
  func plainRename(isTaken: Bool) throws {
    if isTaken { try DurableFile.write(old.span, to: path) }
    let operations = FaultyFileOperations()
    // Its create, write, question and sync come before its rename.
    operations.fail(call: 4, number: EINVAL)
    var error: SystemError?
    do {
      try DurableFile.write(new.span, to: path, ifPresent: .refuse, operations: operations)
    } catch let failure {
      error = failure
    }
    #expect(operations.failures == 1)
    #expect(error?.isFileInTheWay == (isTaken ? true : nil))
    #expect(try FileSystem.read(path, upTo: .kibibytes(1)) == (isTaken ? old : new))
    #expect(try names() == ["issue.cbz"])
  }

  @Test("the permissions are those asked for") func permissions() throws {
    try DurableFile.write(new.span, to: path, permissions: 0o600)
    #expect(try FileSystem.status(of: path)?.permissions == 0o600)
  }

  @Test("leftovers of killed writers are removed, other files are not") func leftovers() throws {
    let operations = FaultyFileOperations(failing: .remove)
    do {
      var file = try DurableFile(creating: path, operations: operations)
      try file.append(new.span)
    }
    try DurableFile.write(old.span, to: directory.path(".hidden"))
    #expect(try names().count == 2)
    try DurableFile.removeLeftovers(in: directory.path)
    #expect(try names() == [".hidden"])
  }

  @Test(
    "whatever step fails, a file that was to be published has its old name and no other",
    arguments: [Step.synchronize, .rename, .synchronizeDirectory])
  func failureOfPublishing(step: FaultyFileOperations.Step) throws {
    let download = directory.path("download")
    try DurableFile.write(new.span, to: download)
    let file = try FileDescriptor.open(download, .readWrite)
    let operations = FaultyFileOperations(failing: step)
    #expect(throws: SystemError.self) {
      try DurableFile.publish(file, at: download, as: path, operations: operations)
    }
    #expect(try names() == ["download"])
    operations.fail(nil)
    try DurableFile.publish(file, at: download, as: path, operations: operations)
    #expect(try names() == ["issue.cbz"])
  }

  @Test("a file that is in the way of a publication stays") func publishingRefuses() throws {
    let download = directory.path("download")
    try DurableFile.write(new.span, to: download)
    try DurableFile.write(old.span, to: path)
    let file = try FileDescriptor.open(download, .readWrite)
    let error = #expect(throws: SystemError.self) {
      try DurableFile.publish(file, at: download, as: path)
    }
    #expect(error?.isFileInTheWay == true)
    #expect(try FileSystem.read(path, upTo: .kibibytes(1)) == old)
    #expect(try names() == ["download", "issue.cbz"])
  }

  @Test("a name of 255 bytes can be written") func longName() throws {
    let long = directory.path(String(repeating: "é", count: 127))
    try DurableFile.write(new.span, to: long)
    #expect(try FileSystem.read(long, upTo: .kibibytes(1)) == new)
  }
}
