import HTTPTesting
import Testing

@testable import HTTPParsing

struct RefusedHeadTests {
  @Test("what two readers could understand differently is refused", arguments: RefusedHeads.all)
  func refused(_ vector: RefusedHeads.Vector) {
    #expect(parse(vector.bytes).answer == .invalid(vector.status))
  }

  static let accepted = [
    "GET / HTTP/1.1\r\nHost: h\r\n\r\n",
    "\r\nPOST /a/b?c=%20d HTTP/1.1\r\nHost: [::1]:80\r\nContent-Length: 12\r\nExpect: 100-continue\r\n\r\n",
    "OPTIONS * HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nConnection: a, close\r\n\r\n",
    "GET http://h/p HTTP/1.0\r\nX: \t  \r\nY:z\r\n\r\n",
  ]

  @Test(
    "a head cut in two anywhere means the same",
    arguments: accepted + RefusedHeads.all.map { String(decoding: $0.bytes, as: UTF8.self) })
  func everyCut(_ text: String) {
    let bytes = Array(text.utf8)
    let whole = parse(bytes)
    // Long ones repeat themselves: around both ends every cut, between them some.
    for cut in 0...bytes.count
    where bytes.count < 600 || cut < 100 || cut > bytes.count - 100 || cut % 997 == 0 {
      #expect(parse(bytes, cutAt: [cut]) == whole, "cut at \(cut)")
    }
  }

  @Test(
    "a head that comes byte by byte means the same",
    arguments: accepted + RefusedHeads.all.map { String(decoding: $0.bytes, as: UTF8.self) })
  func everyByte(_ text: String) {
    let bytes = Array(text.utf8.prefix(400))
    #expect(parse(bytes, cutAt: Array(0...bytes.count)) == parse(bytes))
  }
}
