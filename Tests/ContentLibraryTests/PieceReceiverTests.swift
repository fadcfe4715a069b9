import ContentPackage
import CoreTypes
import HTTPClient
import PackageTesting
import PullboxTesting
import Testing

@testable import ContentLibrary

/// The bytes of an answer, as far as they are taken.
@Suite struct PieceReceiverTests {
  private static let mebibyte = 1 << 20

  @Test(
    "a transfer whose writer rests begins no piece while one waits, and goes on once that is taken",
    .timeLimit(.minutes(1)))
  func rests() throws {
    let package = try FixturePackage.file(length: 6 * Self.mebibyte)
    let (manifest, buffers) = (package.manifest, BufferPool(limit: 6))
    let isResting = Locked(true)
    let queue = PieceQueue(of: manifest) { isResting.current ? 4 : nil }
    let receiver = PieceReceiver(
      asked: 0..<Int64(package.bytes.count), manifest: manifest, known: PieceMap(manifest), buffers: buffers,
      queue: queue, progress: TransferProgress(received: .zero, verified: .zero))
    let head = ResponseHead(
      status: 206,
      headers: ResponseFields([
        .init(name: "Content-Range", value: "bytes 0-\(package.bytes.count - 1)/\(package.bytes.count)"),
        .init(name: "ETag", value: RangeResponse.entityTagText(manifest.digest)),
      ]))
    #expect(receiver.receive(head: head) == .accept)
    var position = 0
    /// Until it pauses, or everything has come.
    func receiveAll() {
      while position < package.bytes.count {
        let part = Array(package.bytes[position..<min(position + 16_384, package.bytes.count)])
        guard receiver.receive(part.span) == .consumed else { return }
        position += part.count
      }
    }
    receiveAll()
    #expect(position == Self.mebibyte && buffers.available == 5)
    // The writer has the first one now; its buffer comes back when it is written.
    #expect(queue.next()?.index == 0)
    receiveAll()
    #expect(position == 2 * Self.mebibyte && buffers.available == 4)
    isResting.withLock { $0 = false }
    receiveAll()
    #expect(position == 6 * Self.mebibyte && buffers.available == 0)
  }
}
