import CoreTypes
import Files
import PullboxTesting
import ServiceRuntime
import SystemCalls
import Testing

@testable import ContentDelivery

@Suite("Reloading")
struct ReloadTests {
  @Test("a rotated key file keeps its owner, who alone may read it")
  func rotatedOwner() throws {
    let directory = try TemporaryDirectory()
    let path = TicketKeyFile.path(in: directory.path)
    _ = try TicketKeyFile.loadOrCreate(path)
    // Only root can give a file away; for other users it stays their own.
    let own = FileOwner.ofThisProcess
    let owner = own.user == 0 ? FileOwner(user: 65_533, group: 65_533) : own
    try FileDescriptor.open(path, .readOnly).setOwner(owner)
    #expect(
      try TicketKeyFile.rotate(path, at: Timestamp(millisecondsSinceEpoch: 0), memory: .seconds(1)) == 2)
    let status = try #require(try FileSystem.status(of: path))
    #expect(status.owner == owner)
    #expect(status.permissions == 0o600)
  }

  @Test("a key that is to seal later opens at once, and the one before seals until then")
  func delayedKey() throws {
    let directory = try TemporaryDirectory()
    let path = TicketKeyFile.path(in: directory.path)
    _ = try TicketKeyFile.loadOrCreate(path)
    let now = Timestamp(millisecondsSinceEpoch: 1_790_000_000_000)
    #expect(try TicketKeyFile.rotate(path, at: now, delay: .seconds(600)) == 2)
    let keys = try TicketKeyFile.load(path)
    #expect(keys.newest.identifier == 2)
    #expect(keys.sealing(at: now + .seconds(599)).identifier == 1)
    #expect(keys.sealing(at: now + .seconds(600)).identifier == 2)
    // The first key is needed until tickets that it sealed in those ten minutes have expired.
    let memory = TicketKeyFile.memory
    func holdsFirst() throws -> Bool {
      String(decoding: try FileSystem.read(path, upTo: .mebibytes(1)), as: UTF8.self).contains(#""id":1,"#)
    }
    #expect(try TicketKeyFile.rotate(path, at: now + .seconds(599) + memory) == 3)
    #expect(try holdsFirst())
    #expect(try TicketKeyFile.rotate(path, at: now + .seconds(601) + memory) == 4)
    #expect(try !holdsFirst())
  }

  @Test("rotations at the same moment lose no key: one waits its turn, or is told to try again")
  func concurrentRotations() async throws {
    let directory = try TemporaryDirectory()
    let path = TicketKeyFile.path(in: directory.path)
    _ = try TicketKeyFile.loadOrCreate(path)
    let now = Timestamp(millisecondsSinceEpoch: 1_790_000_000_000)
    let made = await withTaskGroup(of: UInt32?.self, returning: [UInt32].self) { group in
      for _ in 0..<16 {
        group.addTask { await BlockingPool.shared.run { try? TicketKeyFile.rotate(path, at: now) } }
      }
      return await group.reduce(into: []) { ids, id in if let id { ids.append(id) } }
    }
    #expect(!made.isEmpty)
    #expect(made.sorted() == (2..<UInt32(made.count + 2)).map { $0 })
    #expect(try TicketKeyFile.load(path).newest.identifier == made.max())
  }

  @Test("a rotation after which no server could read the keys is refused, and leaves the file as it is")
  func longKeyFile() throws {
    let directory = try TemporaryDirectory()
    let path = TicketKeyFile.path(in: directory.path)
    let now = Timestamp(millisecondsSinceEpoch: 1_790_000_000_000)
    // The newest key fills up what the others leave of the longest file that is read.
    let limit = Int(SecretFile.maximumLength.rawValue)
    let secret = String(repeating: "5a", count: 32)
    let older = (1...400).reversed().map { #"{"id":\#($0),"retired":"\#(now)","secret":"\#(secret)"}"# }
    func text(_ newest: String) -> String {
      #"{"keys":[{"id":401,"secret":"\#(newest)"},\#(older.joined(separator: ","))]}"#
    }
    let room = limit - text(secret).utf8.count
    let longest = Array(text(secret + String(repeating: "5a", count: room / 2)).utf8)
    #expect(longest.count > limit - 2 && longest.count <= limit)
    try DurableFile.write(longest.span, to: path, permissions: 0o600)
    let error = #expect(throws: TicketKeyFile.Unusable.self) { try TicketKeyFile.rotate(path, at: now) }
    let next = now + TicketKeyFile.memory
    #expect(error?.reason.contains("longer than 64.0 KiB") == true)
    #expect(error?.reason.contains("rotate again after \(next)") == true)
    #expect(try FileSystem.read(path, upTo: .mebibytes(1)) == longest)
    #expect(try TicketKeyFile.load(path).newest.identifier == 401)
    #expect(try TicketKeyFile.rotate(path, at: next + .milliseconds(1)) == 402)
    #expect(try TicketKeyFile.load(path).newest.identifier == 402)
  }
}
