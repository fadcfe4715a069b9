import CoreTypes
import Crypto
import Files
import PullboxTesting
import ServiceRuntime
import SystemCalls
import Testing

@testable import AgentRecords

@Suite struct DeviceIdentityTests {
  @Test("a device keeps its name and key, for its owner's eyes only") func lasting() throws {
    let directory = try TemporaryDirectory()
    let first = try DeviceIdentity.load(from: directory.path)
    let second = try DeviceIdentity.load(from: directory.path)
    #expect(first.identifier == second.identifier)
    #expect(first.key.verificationKey == second.key.verificationKey)
    #expect(try FileSystem.status(of: directory.path("device-key"))?.permissions == 0o600)
  }

  @Test("a damaged key is reported, never replaced") func damaged() throws {
    let directory = try TemporaryDirectory()
    _ = try DeviceIdentity.load(from: directory.path)
    try DurableFile.write(Array("short".utf8).span, to: directory.path("device-key"))
    #expect(throws: StateDirectoryError.self) { try DeviceIdentity.load(from: directory.path) }
  }

  @Test(
    "of a used state directory a missing name or key is refused, with what can be done (D10, K8)",
    arguments: ["device-id", "device-key"])
  func missing(name: String) throws {
    let directory = try TemporaryDirectory()
    let first = try DeviceIdentity.load(from: directory.path)
    let bytes = try FileSystem.read(directory.path(name), upTo: .kibibytes(1))
    try FileSystem.removeFile(directory.path(name))
    let error = try #require(throws: StateDirectoryError.self) {
      try DeviceIdentity.load(from: directory.path, isExpected: true)
    }
    #expect(error.path == directory.path(name) && error.message.contains("--new-identity"))
    #expect(try FileSystem.status(of: directory.path(name)) == nil)
    try DurableFile.write(bytes.span, to: directory.path(name), permissions: 0o600)
    let again = try DeviceIdentity.load(from: directory.path, isExpected: true)
    #expect(again.identifier == first.identifier)
  }

  @Test("a key without a name is half of an identity, also where nothing else was used (D10)")
  func nameless() throws {
    let directory = try TemporaryDirectory()
    _ = try DeviceIdentity.load(from: directory.path)
    try FileSystem.removeFile(directory.path("device-id"))
    #expect(throws: StateDirectoryError.self) { try DeviceIdentity.load(from: directory.path) }
  }

  @Test("a first start that was cut short between name and key is completed")
  func half() throws {
    let directory = try TemporaryDirectory()
    let first = try DeviceIdentity.load(from: directory.path)
    try FileSystem.removeFile(directory.path("device-key"))
    #expect(try DeviceIdentity.load(from: directory.path).identifier == first.identifier)
  }

  @Test("a key that others may read is refused (K18)", arguments: [0o644, 0o640, 0o700, 0o604] as [UInt32])
  func open(mode: UInt32) throws {
    let directory = try TemporaryDirectory()
    _ = try DeviceIdentity.load(from: directory.path)
    let key = try FileSystem.read(directory.path("device-key"), upTo: .kibibytes(1))
    try FileSystem.removeFile(directory.path("device-key"))
    try DurableFile.write(key.span, to: directory.path("device-key"), permissions: mode)
    let error = try #require(throws: StateDirectoryError.self) {
      try DeviceIdentity.load(from: directory.path)
    }
    #expect(error.message.contains(String(mode, radix: 8)))
  }

  @Test("a new identity is made where the old one was set aside, which stays on the disk")
  func replaced() throws {
    let directory = try TemporaryDirectory()
    let first = try DeviceIdentity.load(from: directory.path)
    try DeviceIdentity.setAside(in: directory.path, at: Timestamp(millisecondsSinceEpoch: 0))
    let second = try DeviceIdentity.load(from: directory.path)
    #expect(first.identifier != second.identifier)
    let kept = try FileSystem.read(
      directory.path("device-id.replaced-19700101T000000.000Z"), upTo: .kibibytes(1))
    #expect(String(decoding: kept, as: UTF8.self) == "\(first.identifier)\n")
  }
}
