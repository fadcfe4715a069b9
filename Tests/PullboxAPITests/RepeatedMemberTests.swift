import PullboxAPI
import Testing

@Suite("Members of a JSON document that are there twice")
struct RepeatedMemberTests {
  @Test(
    "a member that an object has twice is found, however deep it is and however its name is written",
    arguments: [
      #"{"a": 1, "a": 2}"#, #"{"a": 1, "\u0061": 2}"#, #"{"x": {"a": 1, "a": 1}}"#, #"[{"a": 1, "a": 1}]"#,
      #"{"x": [1, {"b": {}, "c": [], "b": 0}]}"#, #"{"a\"": 1, "a\"": 1}"#, #"{"a":{},"b":[],"a":0}"#,
    ])
  func repeated(text: String) {
    #expect(APIJSON.hasRepeatedMember(inDocument: Array(text.utf8)))
  }

  @Test(
    "one name in several objects, and as a value, is no repetition",
    arguments: [
      #"{"a": "a", "b": "a"}"#, #"{"a": {"a": {"a": 1}}}"#, #"[{"a": 1}, {"a": 1}]"#, #"{"a": ["a", "a"]}"#,
      #"{"a": 1, "A": 1}"#, #"{"a": "\"a\": 1, \"a\": 2"}"#, "", "[", #"{"a"#, "}}",
      "{\"\u{E9}\": 1, \"e\u{301}\": 1}",
    ])
  func single(text: String) {
    #expect(!APIJSON.hasRepeatedMember(inDocument: Array(text.utf8)))
  }
}
