import CoreTypes
import Crypto
import Files
import PullboxTesting
import SystemCalls
import Testing

@testable import PullboxOperatorKit

@Suite("Uploads that were broken off are remembered")
struct UploadResumeFileTests {
  private let digest = SHA256Digest.of([1])

  @Test("an upload is found by server, digest and length, also by another process, until it is forgotten")
  func remembers() throws {
    let directory = try TemporaryDirectory()
    let path = directory.path("state/uploads.json")
    let ledger = UploadResumeFile(path: path, clock: ManualWallClock())
    #expect(try ledger.find(server: "s", digest: digest, length: ByteCount(1)) == nil)
    try ledger.remember("s/u", server: "s", digest: digest, length: ByteCount(1))
    let other = UploadResumeFile(path: path)
    #expect(try other.find(server: "s", digest: digest, length: ByteCount(1)) == "s/u")
    #expect(try other.find(server: "t", digest: digest, length: ByteCount(1)) == nil)
    #expect(try other.find(server: "s", digest: .of([2]), length: ByteCount(1)) == nil)
    #expect(try other.find(server: "s", digest: digest, length: ByteCount(2)) == nil)
    try other.forget(server: "s", digest: digest)
    #expect(try ledger.find(server: "s", digest: digest, length: ByteCount(1)) == nil)
  }

  @Test("only its owner may read the file")
  func permissions() throws {
    let directory = try TemporaryDirectory()
    let ledger = UploadResumeFile(path: directory.path("uploads.json"))
    try ledger.remember("u", server: "s", digest: digest, length: ByteCount(1))
    #expect(try FileSystem.status(of: ledger.path)?.permissions == 0o600)
  }

  @Test("a file that is damaged counts as empty and is written again")
  func damaged() throws {
    let directory = try TemporaryDirectory()
    let ledger = UploadResumeFile(path: directory.path("uploads.json"))
    let noise = Array("{\"uploads\":[{".utf8)
    try DurableFile.write(noise.span, to: ledger.path)
    #expect(try ledger.find(server: "s", digest: digest, length: ByteCount(1)) == nil)
    try ledger.remember("u", server: "s", digest: digest, length: ByteCount(1))
    #expect(try ledger.find(server: "s", digest: digest, length: ByteCount(1)) == "u")
  }

  @Test("the oldest are dropped beyond 64")
  func bounded() throws {
    let directory = try TemporaryDirectory()
    let ledger = UploadResumeFile(path: directory.path("uploads.json"))
    for index in 0..<65 {
      try ledger.remember("u\(index)", server: "s", digest: .of([UInt8(index)]), length: ByteCount(1))
    }
    #expect(try ledger.entries().count == 64)
    #expect(try ledger.find(server: "s", digest: .of([0]), length: ByteCount(1)) == nil)
    #expect(try ledger.find(server: "s", digest: .of([64]), length: ByteCount(1)) == "u64")
  }
}
