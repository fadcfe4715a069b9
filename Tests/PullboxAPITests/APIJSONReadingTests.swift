import PullboxAPI
import ServiceAPI
import Testing

/// Types that read their members in other ways than synthesized conformances do, and the words for what is refused.
@Suite("Read JSON")
struct APIJSONReadingTests {
  private struct Leaf: Decodable {
    var number: Int
  }

  /// Reads containers within its own, and parts by decoders of their own.
  private struct Parts: OperatorWritten {
    enum Key: String, CodingKey {
      case object
      case list
      case part
      case above = "super"
    }

    enum Inner: String, CodingKey { case number }

    var numbers: [Int] = []
    var texts: [String] = []

    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: Key.self)
      let object = try container.nestedContainer(keyedBy: Inner.self, forKey: .object)
      numbers.append(try object.decode(Int.self, forKey: .number))
      var list = try container.nestedUnkeyedContainer(forKey: .list)
      #expect(list.count == 5 && list.currentIndex == 0)
      numbers.append(try list.decode(Int.self))
      #expect(try list.decodeNil())
      let inner = try list.nestedContainer(keyedBy: Inner.self)
      numbers.append(try inner.decode(Int.self, forKey: .number))
      var deep = try list.nestedUnkeyedContainer()
      texts.append(try deep.decode(String.self))
      #expect(deep.isAtEnd && !list.isAtEnd)
      numbers.append(try Leaf(from: list.superDecoder()).number)
      #expect(list.isAtEnd)
      numbers.append(try Leaf(from: container.superDecoder(forKey: .part)).number)
      texts.append(try container.superDecoder().singleValueContainer().decode(String.self))
    }
  }

  private static let parts =
    #"{"list":[2,null,{"number":3},["deep"],{"number":4}],"object":{"number":1},"part":{"number":5},"super":"above"}"#

  private func refusal<Value: Decodable>(
    _ type: Value.Type, _ text: String, in place: String? = nil
  ) -> String? {
    do {
      _ = try APIJSON.decode(type, from: Array(text.utf8))
      return nil
    } catch {
      return APIJSON.explain(error, in: place)
    }
  }

  @Test("containers within containers are read in the order in which they are asked for")
  func nested() throws {
    for isJSON5 in [false, true] {
      let parts = try APIJSON.decode(Parts.self, from: Array(Self.parts.utf8), allowsJSON5: isJSON5)
      #expect(parts.numbers == [1, 2, 3, 4, 5])
      #expect(parts.texts == ["deep", "above"])
    }
  }

  @Test("a member that is not known is refused there as well, and its place named")
  func unknownInNested() throws {
    let variants = try JSONText.variants(of: Self.parts, adding: "extra", tables: [])
    #expect(
      variants.map(\.path).sorted() == [
        "extra", "list.[2].extra", "list.[4].extra", "object.extra", "part.extra",
      ])
    for variant in variants {
      #expect(refusal(Parts.self, variant.text) == "\(variant.path): there is no such member")
    }
  }

  @Test("what does not fit is named with its place in the larger document")
  func places() {
    let price = #"{"prices":{"FRA":{"amount":"2,99","currency":"EUR"}}}"#
    #expect(
      refusal(ProductDescription.self, price, in: "products.[7]")
        == "products.[7].prices.FRA.amount: not a price: 2,99 EUR")
    #expect(
      refusal(ProductDescription.self, "[]", in: "products.[7]") == "products.[7] is not an object in braces")
    #expect(refusal(ReleaseRequest.self, #"{"percent":1}"#, in: "a") == "a.percent: there is no such member")
    #expect(refusal(ReleaseRequest.self, "{", in: "products.[7]")?.hasPrefix("products.[7]: ") == true)
  }

  @Test("what is no error of a decoder is told without a place, and so without a reason")
  func otherErrors() {
    #expect(APIJSON.explain(CancellationError()) == "not readable as JSON")
    #expect(
      APIJSON.explain(CancellationError(), in: "products.[7]") == "products.[7] is not readable as JSON")
    #expect(APIJSON.fault(CancellationError()) == nil)
  }

  @Test("a fault has the path of its member, with places in lists as numbers")
  func faults() throws {
    let text = #"{"products":["a"],"device":{"id":"d","publicKey":7}}"#
    let error = #expect(throws: DecodingError.self) {
      try APIJSON.decode(GrantBatchRequest.self, from: Array(text.utf8))
    }
    let refused = try #require(error)
    let fault = try #require(APIJSON.fault(refused))
    #expect(fault.path == ["device", "publicKey"] && !fault.isSentence)
    let list = #expect(throws: DecodingError.self) {
      try APIJSON.decode(CatalogImport.self, from: Array(#"{"products":[{},{"id":".b"}]}"#.utf8))
    }
    let refusedInList = try #require(list)
    let inList = try #require(APIJSON.fault(refusedInList))
    #expect(inList.path == ["products", "1", "id"] && inList.isSentence)
  }

  @Test("the words for a value of another kind are those of JSON")
  func words() {
    #expect(refusal([Int].self, "[true]") == "[0] is not a whole number")
    #expect(refusal([Double].self, #"["1"]"#) == "[0] is not a number")
    #expect(refusal([Bool].self, "[1]") == "[0] is not true or false")
    #expect(refusal([String].self, "[1]") == "[0] is not a text in quotation marks")
    #expect(refusal([[Int]].self, "[{}]") == "[0] is not a list in square brackets")
    #expect(refusal([Leaf].self, "[[]]") == "[0] is not an object in braces")
    #expect(refusal([[String: Int]].self, "[[]]") == "[0] is not an object in braces")
    #expect(refusal([Leaf].self, "[null]")?.hasPrefix("[0] is ") == true)
  }
}
