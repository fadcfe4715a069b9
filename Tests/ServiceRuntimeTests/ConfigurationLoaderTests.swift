import Files
import PullboxTesting
import ServiceRuntime
import SystemCalls
import Testing

struct ConfigurationLoaderTests {
  private struct Settings: Decodable, Equatable {
    struct Limits: Decodable, Equatable {
      var connections: UInt16?
      var body: Int64?
    }

    var listen: [String]
    var state: String?
    var publicURL: String?
    var verbose: Bool?
    var drain: ConfigurationDuration?
    var ratio: Double?
    var limits: Limits?
    var classes: [RateClass]?
  }

  private struct RateClass: Decodable, Equatable {
    var number: Int
    var products: [String]
  }

  private static let command = CommandDescription(
    "test", summary: "Test",
    options: [
      .configurationFile,
      .readyFile,
      .list("listen", "ADDRESS", fallback: "127.0.0.1:8080", help: "Where to listen"),
      .value("state", "DIR", help: "Where to keep things"),
      .value("public-url", "URL", key: "publicURL", help: "How clients reach this"),
      .value(
        "max-connections", "N", key: "limits.connections",
        aliases: [.init("connections", environment: .none, key: "bounds.connections")], help: "How many"),
      .value("drain", "TIME", aliases: ["drain-time"], help: "How long to finish"),
      .flag("verbose", help: "Say more"),
      .list(
        "class", "JSON5", environment: "PULLBOX_CLASSES", key: "classes", help: "A class of its own"),
    ])

  private func load(
    file: String? = nil, _ arguments: [String] = [], environment: [String: String] = [:]
  ) throws -> Settings {
    let directory = try TemporaryDirectory()
    var arguments = arguments
    if let file {
      let bytes = Array(file.utf8)
      try DurableFile.write(bytes.span, to: directory.path("config.json5"))
      arguments += ["--config", directory.path("config.json5")]
    }
    guard case .run(let parsed) = try ArgumentParser(Self.command, environment: environment).parse(arguments)
    else { throw UsageError("help") }
    return try ConfigurationLoader.load(arguments: parsed)
  }

  private func error(
    file: String? = nil, _ arguments: [String] = [], environment: [String: String] = [:]
  ) throws -> ConfigurationError {
    try #require(throws: ConfigurationError.self) {
      try load(file: file, arguments, environment: environment)
    }
  }

  @Test("options go before variables, variables before the file, the file before defaults")
  func precedence() throws {
    let file = "{ /* a comment */ listen: ['unix:/f'], state: '/file', limits: {connections: 5, body: 7,}, }"
    #expect(try load().listen == ["127.0.0.1:8080"])
    var settings = try load(file: file)
    #expect(settings.listen == ["unix:/f"])
    #expect(settings.state == "/file")
    #expect(settings.limits == .init(connections: 5, body: 7))
    let environment = ["PULLBOX_LISTEN": "a:1, b:2", "PULLBOX_STATE": "/env", "PULLBOX_MAX_CONNECTIONS": "6"]
    settings = try load(file: file, environment: environment)
    #expect(settings.listen == ["a:1", "b:2"])
    #expect(settings.state == "/env")
    #expect(settings.limits == .init(connections: 6, body: 7))
    settings = try load(file: file, ["--listen", "c:3", "--max-connections=8"], environment: environment)
    #expect(settings.listen == ["c:3"])
    #expect(settings.state == "/env")
    #expect(settings.limits == .init(connections: 8, body: 7))
  }

  @Test("text from variables and options becomes what is asked for")
  func loose() throws {
    let settings = try load(
      ["--verbose", "--drain", "1500ms"], environment: ["PULLBOX_PUBLIC_URL": "https://x/"])
    #expect(settings.verbose == true)
    #expect(settings.drain == ConfigurationDuration(.milliseconds(1500)))
    #expect(settings.publicURL == "https://x/")
  }

  @Test("entries that are tables are written in options and variables as in a file")
  func tables() throws {
    let file = "{classes: [{number: 9, products: ['z']}]}"
    let one = RateClass(number: 1, products: ["a", "b.*"])
    let two = RateClass(number: 2, products: [])
    let first = "{number: 1, products: ['a', 'b.*']}"
    let second = #" {"number": 2, "products": []}"#
    #expect(try load(file: file, ["--class", first, "--class", second]).classes == [one, two])
    for text in [first, "[\(first)]"] {
      #expect(try load(file: file, environment: ["PULLBOX_CLASSES": text]).classes == [one])
    }
    for text in ["\(first),\(second)", "[\(first), \(second)]", "[ \(first), \(second), ]"] {
      #expect(try load(environment: ["PULLBOX_CLASSES": text]).classes == [one, two])
    }
    // An address in brackets is a text.
    #expect(try load(environment: ["PULLBOX_LISTEN": "[::1]:80"]).listen == ["[::1]:80"])
    #expect(
      try error(["--class", "{number: 1"]).description
        == "configuration: --class: a table in JSON5 is expected here, such as {name: 'a'}")
    #expect(try error(environment: ["PULLBOX_CLASSES": "[{}"]).subject == "PULLBOX_CLASSES")
    #expect(try error(["--class", "{numbr: 1, products: []}"]).subject == "classes.0.numbr")
  }

  @Test("a key may have its earlier name in a file, and not both")
  func earlierKeys() throws {
    let seconds = ConfigurationDuration(.seconds(7))
    #expect(try load(file: "{drainTime: 7}").drain == seconds)
    #expect(try load(file: "{drainTime: 8}", ["--drain", "7s"]).drain == seconds)
    #expect(try load(file: "{drainTime: 8}", environment: ["PULLBOX_DRAIN_TIME": "7s"]).drain == seconds)
    #expect(
      try load(file: "{bounds: {connections: 5}, limits: {body: 7}}").limits == .init(connections: 5, body: 7)
    )
    let both = try error(file: "{drain: 7, drainTime: 7}")
    #expect(
      both.description.hasSuffix(
        "/config.json5:1:12: drainTime: is an earlier name of drain, which is given too"))
    #expect(try error(file: "{bounds: {connections: 5, bodies: 1}}").subject == "bounds")
    #expect(try error(environment: ["PULLBOX_DRAIN_TIME": "soon"]).message.hasSuffix("not 'soon'"))
    #expect(try error(file: "{'limits.body': 7}").message.contains("limits: {body: …}"))
  }

  @Test("a file may name units of bytes and of time")
  func units() throws {
    let settings = try load(file: "{drain: '2m', ratio: 0.5, limits: {body: '64 MiB'}}")
    #expect(settings.drain == ConfigurationDuration(.seconds(120)))
    #expect(settings.ratio == 0.5)
    #expect(settings.limits?.body == 67_108_864)
    #expect(try load(file: "{drain: 2.5}").drain == ConfigurationDuration(.milliseconds(2500)))
  }

  @Test("a key that the type does not ask for is an error that names it")
  func unknownKeys() throws {
    #expect(
      try error(file: "{lisen: ['a']}").description.hasSuffix(
        "/config.json5:1:2: lisen: there is no such key; did you mean 'listen'?"))
    #expect(try error(file: "{nonsense: 1}").message == "there is no such key")
    #expect(try error(file: "{limits: {bodies: 1}}").subject == "limits.bodies")
    #expect(try error(file: "{stat: '/x'}").message == "there is no such key; did you mean 'state'?")
  }

  @Test("a value of the wrong kind is named with its key and where it came from")
  func wrongKinds() throws {
    #expect(
      try error(["--max-connections", "many"]).description
        == "--max-connections: limits.connections: a whole number from 0 to 65535 is expected here, not 'many'"
    )
    #expect(
      try error(environment: ["PULLBOX_MAX_CONNECTIONS": "65536"]).description
        == "PULLBOX_MAX_CONNECTIONS: limits.connections: a whole number from 0 to 65535 is expected here, "
        + "not '65536'")
    #expect(try error(file: "{state: 7}").message == "a text is expected here, not a number")
    #expect(try error(file: "{listen: 'a'}").message == "a list is expected here, not 'a'")
    #expect(try error(file: "{listen: [1]}").subject == "listen.0")
    #expect(try error(file: "{limits: []}").message == "a table is expected here, not a list")
    #expect(try error(file: "{drain: 'soon'}").subject == "drain")
    #expect(try error(file: "{limits: {body: '9999999999 GiB'}}").subject == "limits.body")
  }

  @Test(
    "a file that is not JSON5, or no object, or not there, is an error that names it",
    arguments: ["{", "[]", "", "7"])
  func brokenFiles(text: String) throws {
    #expect(try error(file: text).subject.hasSuffix("/config.json5"))
  }

  @Test("a missing file is an error that names it")
  func missingFile() throws {
    let error = try error(["--config", "/nonexistent/c.json5"])
    #expect(error.subject == "/nonexistent/c.json5")
    #expect(error.message.contains("No such file"))
  }

  @Test(
    "durations are read with their unit",
    arguments: [
      ("30", Duration.seconds(30)), ("250ms", .milliseconds(250)), ("1.5s", .milliseconds(1500)),
      ("5m", .seconds(300)), ("5 min", .seconds(300)), ("2h", .seconds(7200)), ("7d", .seconds(604_800)),
    ])
  func durations(text: String, duration: Duration) {
    #expect(ConfigurationDuration(text)?.duration == duration)
  }

  @Test("what is no duration is none", arguments: ["", "-1s", "s", "1w", "1e3s", "1.2.3s", "٣s"])
  func noDurations(text: String) {
    #expect(ConfigurationDuration(text) == nil)
  }
}
