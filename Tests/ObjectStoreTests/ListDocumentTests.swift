import CoreTypes
import Testing

@testable import ObjectStore

/// Answers to ListObjectsV2, by the API reference of Amazon S3.
struct ListDocumentTests {
  private func entry(_ name: String, size: String = "<Size>1</Size>") -> String {
    "<Contents><Key>\(name)</Key>\(size)</Contents>"
  }

  private func page(
    _ contents: String, isTruncated: String = "<IsTruncated>false</IsTruncated>", maximum: Int = 3,
    prefix: String = "p/",
    position: String? = nil, base: String = "p/"
  ) throws -> ObjectPage {
    let text = "<ListBucketResult>\(contents)\(isTruncated)</ListBucketResult>"
    return try ListDocument(maximum: maximum, prefix: prefix, position: position)
      .page(Array(text.utf8), below: base)
  }

  @Test("names lose the prefix of the address, not that of the list")
  func names() throws {
    let page = try page(entry("p/a/1") + entry("p/a/2"), prefix: "p/a/")
    #expect(page.objects.map(\.key.rawValue) == ["a/1", "a/2"])
  }

  @Test("names are encoded only where the answer says so, and a position is their own text")
  func encoding() throws {
    #expect(try page(entry("p/a%2Fb+c")).objects.map(\.key.rawValue) == ["a%2Fb+c"])
    let encoded = try page(
      "<EncodingType>url</EncodingType>" + entry("p%2Fa%20b+c%C3%A4"),
      isTruncated: "<IsTruncated>true</IsTruncated>")
    #expect(encoded.objects.map(\.key.rawValue) == ["a b cä"])
    #expect(encoded.next == ListPosition(after: ObjectKey("a b cä")))
  }

  @Test("names that no program of this project makes are counted, and the next page begins behind them")
  func otherNames() throws {
    let page = try page(
      entry("p/") + entry("p/a") + entry("p/b//"), isTruncated: "<IsTruncated>true</IsTruncated>")
    #expect(page.objects.map(\.key.rawValue) == ["a"])
    #expect(page.unnamedCount == 2)
    #expect(page.next == ListPosition(name: "b//"))
  }

  @Test("the order is that of the bytes")
  func order() throws {
    // U+FF5E is before U+1F600 in UTF-8, and behind it in UTF-16.
    #expect(try page(entry("p/A") + entry("p/a") + entry("p/～")).objects.count == 3)
    #expect(try page(entry("p/～") + entry("p/😀")).objects.count == 2)
  }

  @Test(
    "a list that contradicts what was asked for is refused",
    arguments: [
      "<Contents><Size>1</Size></Contents>", "<Contents><Key>p/a</Key></Contents>",
      "<Contents><Key></Key><Size>1</Size></Contents>",
      "<Contents><Key>p/a</Key><Size>-1</Size></Contents>",
      "<Contents><Key>p/a</Key><Size>+1</Size></Contents>",
      "<Contents><Key>p/a</Key><Size></Size></Contents>",
      "<Contents><Key>p/a</Key><Size>9223372036854775808</Size></Contents>",
      "<EncodingType>url</EncodingType><Contents><Key>p/%</Key><Size>1</Size></Contents>",
      "<EncodingType>base64</EncodingType>",
      "<Contents><Key>q/a</Key><Size>1</Size></Contents>", "<Contents>", "<IsTruncated>perhaps</IsTruncated>",
    ])
  func contradictions(contents: String) {
    #expect(throws: XMLPullReader.Fault.self) { try page(contents) }
  }

  @Test(
    "a list that goes back, repeats a name, or has more than was asked for would never end, and is refused")
  func circles() throws {
    #expect(throws: XMLPullReader.Fault.self) { try page(entry("p/b") + entry("p/a")) }
    #expect(throws: XMLPullReader.Fault.self) { try page(entry("p/a") + entry("p/a")) }
    #expect(throws: XMLPullReader.Fault.self) { try page(entry("p/a"), position: "p/a") }
    #expect(try page(entry("p/b"), position: "p/a").objects.count == 1)
    #expect(throws: XMLPullReader.Fault.self) { try page(entry("p/a") + entry("p/b"), maximum: 1) }
    #expect(throws: XMLPullReader.Fault.self) { try page("", isTruncated: "<IsTruncated>true</IsTruncated>") }
  }

  @Test("a document that does not say whether more follows, or is another, is none")
  func otherDocuments() {
    #expect(throws: XMLPullReader.Fault.self) { try page("", isTruncated: "") }
    let reading = ListDocument(maximum: 1, prefix: "", position: nil)
    for text in ["<Error><Code>a</Code></Error>", "<html></html>", "", "<ListBucketResult>"] {
      #expect(throws: XMLPullReader.Fault.self) { try reading.page(Array(text.utf8), below: "") }
    }
  }

  @Test("a thousand of the longest names are within the bound of an answer")
  func bound() {
    // A byte takes three at most, and the elements of AWS around a name some 300.
    #expect(ListDocument.maximumLength(entries: 1000) >= ByteCount(1000 * (1024 * 3 + 300)))
    #expect(ListDocument.maximumLength(entries: 1000) <= .mebibytes(5))
  }
}
