import MessageBus
import Testing

struct BusNameTests {
  @Test(
    "a bus name has two words or more, of letters, digits, dashes and underscores",
    arguments: [
      ("org.freedesktop.UPower", true), (":1.42", true), ("a.b-c", true), ("com.pullbox.Agent1", true),
      ("", false), ("org", false), (".org", false), ("org..b", false), ("org.1b", false), ("org.b'", false),
      ("org.b ", false), ("org.bé", false), (":1", false), (":\u{301}1.42", false),
    ])
  func names(text: String, isName: Bool) {
    #expect((BusName(text) != nil) == isName)
  }

  @Test("a name has 255 bytes at most")
  func longNames() {
    #expect(BusName("a." + String(repeating: "b", count: 253)) != nil)
    #expect(BusName("a." + String(repeating: "b", count: 254)) == nil)
  }

  @Test(
    "an interface has no dash", arguments: [("a.b", true), ("a.b-c", false), ("a.b_c1", true), ("a", false)])
  func interfaces(text: String, isName: Bool) {
    #expect((BusInterface(text) != nil) == isName)
  }

  @Test(
    "a path is a slash, or words each after a slash",
    arguments: [
      ("/", true), ("/a", true), ("/a/b_1", true), ("", false), ("a", false), ("/a/", false), ("//", false),
      ("/a//b", false), ("/a-b", false), ("/é", false),
    ])
  func paths(text: String, isPath: Bool) {
    #expect((BusPath(text) != nil) == isPath)
  }

  // The vectors of sd_bus_path_encode(3).
  @Test(
    "an identifier is written into a path as sd_bus_path_encode(3) does, and read back",
    arguments: [
      ("foo", "/p/foo"), ("", "/p/_"), ("7up", "/p/_37up"), ("a.b", "/p/a_2eb"), ("_", "/p/_5f"),
      ("ü", "/p/_c3_bc"), ("a7", "/p/a7"), ("a/b", "/p/a_2fb"),
    ])
  func encoding(identifier: String, path: String) {
    let parent: BusPath = "/p"
    #expect(parent.appending(identifier: identifier)?.description == path)
    #expect(BusPath(path)?.identifier(below: parent) == identifier)
  }

  @Test(
    "what is not below a path, or not written so, has no identifier",
    arguments: ["/p", "/q/a", "/p/a/b", "/p/_zz", "/p/_c3"])
  func decoding(path: String) {
    #expect(BusPath(path)?.identifier(below: "/p") == nil)
  }

  @Test(
    "a signature is single complete types one after another",
    arguments: [
      ("", []), ("s", ["s"]), ("sa{sv}as", ["s", "a{sv}", "as"]), ("(ii)v", ["(ii)", "v"]),
      ("a(oa{sv})", ["a(oa{sv})"]),
    ])
  func signatures(text: String, types: [String]) {
    #expect(BusType.list(text)?.map(\.description) == types)
  }

  @Test(
    "a malformed signature is none",
    arguments: ["a", "(", "()", "a{vs}", "a{s}", "{sv}", "a{sv", "z", "(s", ")", "a{sss}"])
  func malformedSignatures(text: String) {
    #expect(BusType.list(text) == nil)
  }

  @Test("a type has 32 containers in one another at most")
  func deepTypes() {
    #expect(BusType(String(repeating: "a", count: 32) + "s") != nil)
    #expect(BusType(String(repeating: "a", count: 33) + "s") == nil)
  }
}
