import Crypto
import HTTPClient
import Testing

@testable import ContentLibrary

@Suite("A manifest over connections that break") struct ManifestResumeTests {
  private func range(_ text: String) -> ResponseFields {
    ResponseFields([.init(name: "Content-Range", value: text)])
  }

  @Test("what came of another manifest, and an answer from elsewhere, are no part of it")
  func others() {
    let partial = PartialManifest()
    partial.keep([1, 2, 3], of: .of([9]))
    #expect(partial.remove(of: .of([8])).isEmpty)
    #expect(partial.remove(of: .of([9])) == [1, 2, 3])
    #expect(partial.remove(of: .of([9])).isEmpty)
    let receiver = ManifestReceiver(known: [1, 2, 3], limit: 5)
    #expect(receiver.receive(head: .init(status: 206, headers: range("bytes 2-4/5"))) == .refuse)
    #expect(receiver.receive(head: .init(status: 206, headers: range("bytes 3-4/5"))) == .accept)
    let rest: [UInt8] = [4, 5]
    #expect(receiver.receive(rest.span) == .consumed && receiver.bytes == [1, 2, 3, 4, 5])
    #expect(receiver.receive(rest.span) == .stop)
    #expect(receiver.receive(head: .init(status: 200)) == .accept && receiver.bytes.isEmpty)
  }
}
