import PullboxAPI
import ServiceAPI
import Testing

@Suite("Refused JSON in words")
struct APIJSONTests {
  private func refusal<Value: Decodable>(
    _ type: Value.Type, _ text: String, allowsJSON5: Bool = false
  ) -> String? {
    do {
      _ = try APIJSON.decode(type, from: Array(text.utf8), allowsJSON5: allowsJSON5)
      return nil
    } catch {
      return APIJSON.explain(error)
    }
  }

  @Test("the sentence names the member, through objects and lists")
  func paths() {
    #expect(refusal(PurchaseRequest.self, "{}") == "product is missing")
    #expect(refusal(PurchaseRequest.self, #"{"product":null}"#) == "product is null")
    #expect(refusal(PurchaseRequest.self, #"{"product":1}"#) == "product is not a text in quotation marks")
    #expect(
      refusal(PurchaseRequest.self, #"{"product":"a","quantity":"2"}"#) == "quantity is not a whole number")
    #expect(
      refusal(PurchaseRequest.self, #"{"product":".a"}"#) == "product: not a product identifier: .a")
    #expect(
      refusal(DownloadsResponse.self, #"{"downloads":[\#(WireSample.download),{"id":"1"}]}"#)
        == "downloads.[1].product is missing")
    #expect(refusal(LibraryEvent.self, #"{"change":"placed","item":{}}"#) == "item.product is missing")
    #expect(refusal([Int].self, "{") != nil)
    #expect(refusal([Int].self, "{}")?.hasPrefix("the document is not a list in square brackets") == true)
  }

  @Test(
    "a word that is none of a closed list is refused with those that may stand there, and no type of ours is named"
  )
  func words() {
    #expect(
      refusal(AgentRedeemRequest.self, #"{"ignore":["meterd"]}"#)
        == "ignore.[0]: 'meterd' is none of metered, portal, offline, battery-low, on-battery, power-saver, sleep, busy"
    )
  }

  @Test(
    "in an answer of a later service words have a fallback, are absent, or leave their element out; other faults are refused as before"
  )
  func answers() throws {
    func answer<Value: Decodable>(_ type: Value.Type, _ text: String) throws -> Value {
      try APIJSON.decode(answer: type, from: Array(text.utf8))
    }
    #expect(try answer([DownloadStatus.State].self, #"["active","dreaming"]"#) == [.active, .waiting])
    #expect(try answer([MachineConditionName].self, #"["dreaming","busy"]"#) == [.busy])
    #expect(try answer(AgentRedeemRequest.self, #"{"ignore":["dreaming"],"later":1.5}"#).ignore == [])
    let unknown = #expect(throws: DecodingError.self) {
      try answer(IgnoredCondition.self, #"{"name":"dreaming"}"#)
    }
    #expect(unknown.map { APIJSON.explain($0) }?.hasPrefix("name: 'dreaming' is none of metered") == true)
    for text in [#"["dreaming",7]"#, #"["dreaming",null]"#, #"["dreaming""#] {
      #expect(throws: DecodingError.self, "\(text)") { try answer([MachineConditionName].self, text) }
    }
    #expect(throws: DecodingError.self) { try answer(IgnoredCondition.self, #"{"by":"dreaming"}"#) }
  }

  @Test("of several unknown members the first by the alphabet is named")
  func firstUnknown() {
    #expect(
      refusal(ReleaseRequest.self, #"{"zebra":1,"percentag":10,"percentage":5}"#)
        == "percentag: there is no such member")
  }

  @Test(
    "names are compared as they are written",
    arguments: ["Percentage", "percentage ", "PERCENTAGE", "percentage\\u0000", "", "__proto__", "é"])
  func spelling(name: String) {
    #expect(refusal(ReleaseRequest.self, "{\"\(name)\":10}")?.hasSuffix(": there is no such member") == true)
  }

  @Test("an escape in a name is the character it stands for")
  func escapedName() throws {
    let text = #"{"\u0070ercentage":10}"#
    #expect(try APIJSON.decode(ReleaseRequest.self, from: Array(text.utf8)).percentage == 10)
  }

  @Test("an unknown member is refused also where its value is null, and before known ones are looked at")
  func unknownFirst() {
    #expect(refusal(ReleaseRequest.self, #"{"percentag":null}"#) == "percentag: there is no such member")
    #expect(
      refusal(ReleaseRequest.self, #"{"percentage":"all","percentag":1}"#)
        == "percentag: there is no such member")
  }

  @Test("inside what an operator writes, the sentences about known members stay the same")
  func knownMembers() {
    #expect(refusal(ReleaseRequest.self, #"{"percentage":"10"}"#) == "percentage is not a whole number")
    #expect(refusal(ReleaseRequest.self, #"{"at":"tomorrow"}"#) == "at: not an RFC 3339 date: tomorrow")
    #expect(refusal(VersionSubmission.self, #"{"upload":"a"}"#) == "version is missing")
    #expect(
      refusal(VersionSubmission.self, #"{"upload":"a","version":"1","signatures":[{}]}"#)
        == "signatures.[0].keyId is missing")
    #expect(
      refusal(ProductDescription.self, #"{"prices":{"FRA":{"amount":"2,99","currency":"EUR"}}}"#)
        == "prices.FRA.amount: not a price: 2,99 EUR")
    #expect(
      refusal(ProductDescription.self, #"{"localizations":{"fr-FR":{"title":"a"}}}"#)
        == "localizations.fr-FR.description is missing")
  }

  @Test(
    "a number that does not fit is refused by the member's name",
    arguments: ["10.5", "1e30", "9223372036854775808", "-99999999999999999999", "1e-1"])
  func numbers(text: String) {
    #expect(refusal(ReleaseRequest.self, "{\"percentage\":\(text)}") == "percentage: not a number that fits")
    #expect(
      refusal(PurchaseRequest.self, "{\"product\":\"a\",\"quantity\":\(text)}")
        == "quantity: not a number that fits")
    #expect(
      refusal(
        LibraryEvent.self,
        JSONText.compacted("{\"change\":\"placed\",\"item\":\(WireSample.item)}")
          .replacing("250003657", with: text)) == "item.length: not a number that fits")
  }

  @Test("what is no JSON is told apart from a member with a number that is none")
  func noJSON() {
    for text in [
      "", "{", #"{"quantity":1.5"#, #"{"quantity":+1}"#, #"{"quantity":.5}"#, #"{"quantity":NaN}"#,
    ] {
      #expect(refusal(PurchaseRequest.self, text)?.hasPrefix("the document: ") == true, "\(text)")
      #expect(refusal(GarbageCollectionRequest.self, text)?.hasPrefix("the document: ") == true, "\(text)")
    }
    for number in ["01", "1.", "-", "1e"] {
      let place = "graceSeconds: not a number that fits"
      #expect(refusal(GarbageCollectionRequest.self, "{\"graceSeconds\":\(number)}") == place, "\(number)")
    }
  }

  @Test("a whole number is one however it is written", arguments: ["10", "10.0", "1e1"])
  func wholeNumbers(text: String) throws {
    let body = Array("{\"percentage\":\(text)}".utf8)
    #expect(try APIJSON.decode(ReleaseRequest.self, from: body).percentage == 10)
  }

  @Test("JSON5 is read where it is allowed, as strictly, and nowhere else")
  func json5() throws {
    let text = "{ percentage: 10, /* of a hundred */ }"
    #expect(refusal(ReleaseRequest.self, text) != nil)
    #expect(
      try APIJSON.decode(ReleaseRequest.self, from: Array(text.utf8), allowsJSON5: true).percentage == 10)
    #expect(
      refusal(ReleaseRequest.self, "{ percentag: 10 }", allowsJSON5: true)
        == "percentag: there is no such member")
  }

  @Test(
    "an event of the agent's stream is its name and its document",
    arguments: ["transaction", "download", "library"])
  func events(name: String) throws {
    let documents = [
      "transaction": WireSample.agentTransaction, "download": WireSample.download,
      "library": #"{"change": "placed", "item": \#(WireSample.item)}"#,
    ]
    let document = JSONText.compacted(try #require(documents[name]))
    let event = try #require(try AgentEvent(name: name, data: Array(document.utf8)))
    #expect(event.name == name)
    #expect(String(decoding: try event.encodedData(), as: UTF8.self) == document)
    // A member of tomorrow is ignored, another event's document is not taken for this one's.
    #expect(try AgentEvent(name: name, data: Array((#"{"later":1,"# + document.dropFirst()).utf8)) != nil)
    #expect(throws: DecodingError.self) { try AgentEvent(name: name, data: Array("{}".utf8)) }
  }

  @Test("an event that this version does not know is none, whatever its data")
  func unknownEvents() throws {
    for name in ["", "Download", "download ", "issue-read"] {
      #expect(try AgentEvent(name: name, data: []) == nil)
    }
  }
}
