import Commerce
import CoreTypes
import Crypto
import MessageBus
import PullboxAPI
import PullboxTesting
import Testing

@testable import DownloadAgent

@Suite("The agent's interfaces on the bus")
struct BusContractTests {
  private static func identifier<Value: LosslessStringConvertible>(_ text: String) throws -> Value {
    try #require(Value(text))
  }

  static func download(verified: Int64 = 0, state: DownloadStatus.State = .active) throws -> DownloadStatus {
    DownloadStatus(
      id: try identifier("00ff"), product: try identifier("com.example.heroes"), version: nil,
      transaction: try identifier("2000000000000001"), state: state, reason: "transferring",
      bytesVerified: ByteCount(verified), bytesTotal: nil, bytesReceived: .zero, progress: 0,
      timeRemaining: nil, speed: 0, error: nil, contentPath: nil)
  }

  @Test("deploy/dbus/com.pullbox.Agent1.xml has the interfaces as they are")
  func description() throws {
    let file = try RepositoryFile("deploy/dbus/com.pullbox.Agent1.xml").text
    let text = BusInterfaceDescription.document(BusContract.all)
    #expect(file == text, "\(text)")
  }

  @Test("each object has the properties of its interface, with their types")
  func properties() throws {
    let item = LibraryItem(
      product: try Self.identifier("com.example.heroes"), version: try Self.identifier("1.0"),
      path: "/l", digest: SHA256Digest.of([]), length: .zero,
      placedAt: Timestamp(millisecondsSinceEpoch: 1))
    let transaction = AgentTransaction(
      id: try Self.identifier("2000000000000001"), product: try Self.identifier("com.example.heroes"),
      state: "purchased", step: "observed", reason: nil, error: nil,
      downloads: [try Self.identifier("00ff")])
    let objects = [
      try #require(BusObject(try Self.download())), try #require(BusObject(transaction)),
      try #require(BusObject(item)),
    ]
    for object in objects {
      let interface = try #require(BusContract.all.first { $0.name == object.interface })
      let types = Dictionary(uniqueKeysWithValues: interface.properties.map { ($0.name, $0.type) })
      #expect(object.properties.mapValues(\.type) == types)
    }
    // The members of a member have names of their own.
    let names = ["space": "SpaceNeeded"]
    for (document, object) in zip([try Self.download(), transaction, item] as [Any], objects) {
      for member in Mirror(reflecting: document).children.compactMap(\.label) {
        let name = names[member] ?? member.prefix(1).uppercased() + member.dropFirst()
        #expect(object.properties[name] != nil, "\(object.interface) has no \(name)")
      }
    }
    #expect(
      objects.map(\.path) == [
        "/com/pullbox/Agent1/downloads/_300ff", "/com/pullbox/Agent1/transactions/_32000000000000001",
        "/com/pullbox/Agent1/library/com_2eexample_2eheroes",
      ])
  }

  @Test("a refusal has the words of its code")
  func refusals() {
    let refusal = BusRefusal(Problem(.priceChanged, "it costs more"))
    #expect(refusal.name == "com.pullbox.Agent1.Error.PriceChanged" && refusal.message == "it costs more")
  }

  @Test("docs/bus.md names each method with its action and the route of the socket that does the same")
  func table() throws {
    let table = try RepositoryFile("docs/bus.md").part("methods")
    for interface in BusContract.all {
      for method in interface.methods {
        let action = BusContract.action(of: method.name)?.rawValue ?? "watch"
        let row = table.split(separator: "\n").first { $0.hasPrefix("| `\(interface.name).\(method.name)") }
        #expect(row?.contains("`\(action)`") == true, "\(interface.name).\(method.name)")
        #expect(row?.contains("`GET /v1/") == (action == "watch"), "\(interface.name).\(method.name)")
      }
    }
  }

  @Test("the policy of polkit has each action, in two languages")
  func policy() throws {
    let policy = try RepositoryFile("deploy/dbus/com.pullbox.Agent1.policy").text
    for action in ChangeAction.allCases {
      let parts = policy.split(separator: "<action id=\"\(action.identifier)\">", maxSplits: 1)
      let part = try #require(parts.count == 2 ? parts[1].split(separator: "</action>").first : nil)
      #expect(part.contains("<description>") && part.contains("<description xml:lang=\"de\">"))
      #expect(part.contains("<message>") && part.contains("<message xml:lang=\"de\">"))
      let active = action == .pause ? "yes" : "auth_self_keep"
      #expect(part.contains("<allow_active>\(active)</allow_active>"), "\(action)")
      #expect(part.contains("<allow_any>no</allow_any>") || part.contains("<allow_any>auth_self_keep"))
    }
  }

  @Test("polkit lets the user of the agent's unit ask about each action")
  func owner() throws {
    let unit = try RepositoryFile("deploy/pullbox-agent.service").text
    let user = try #require(unit.split(separator: "\n").first { $0.hasPrefix("User=") }).dropFirst(5)
    let policy = try RepositoryFile("deploy/dbus/com.pullbox.Agent1.policy").text
    let owner = "<annotate key=\"org.freedesktop.policykit.owner\">unix-user:\(user)</annotate>"
    for part in policy.split(separator: "<action id=").dropFirst() {
      #expect(part.contains(owner), "\(part.prefix(40))")
    }
    let allowed = try RepositoryFile("deploy/dbus/system.d/com.pullbox.Agent1.conf").text
    #expect(allowed.contains("<policy user=\"\(user)\">"))
  }
}

@Suite("Signals of what changes")
struct BusChangeTests {
  private static let start = MonotonicInstant(nanoseconds: 1_000_000_000)

  private func object(_ verified: Int64, _ state: DownloadStatus.State = .active) throws -> BusObject {
    try #require(BusObject(try BusContractTests.download(verified: verified, state: state)))
  }

  @Test("progress is told once a second at most, another change at once with the progress that waited")
  func progress() throws {
    var ledger = BusChangeLedger()
    ledger.begin([try object(0)])
    #expect(try ledger.note(object(0), at: Self.start).isEmpty, "nothing is different")
    #expect(
      ledger.note(try object(1), at: Self.start).map { $0.arguments[1] }
        == [.properties(["BytesVerified": .uint64(1)])])
    for step in 2...9 {
      let now = Self.start + .milliseconds(100 * step)
      #expect(ledger.note(try object(Int64(step)), at: now).isEmpty)
    }
    #expect(ledger.nextTime == Self.start + .seconds(1))
    #expect(ledger.due(at: Self.start + .milliseconds(999)).isEmpty)
    let due = ledger.due(at: Self.start + .seconds(1))
    #expect(due.map { $0.arguments[1] } == [.properties(["BytesVerified": .uint64(9)])])
    #expect(ledger.nextTime == nil)
    let now = Self.start + .milliseconds(1500)
    #expect(ledger.note(try object(10), at: now).isEmpty)
    let paused = ledger.note(try object(10, .paused), at: now)
    #expect(
      paused.map { $0.arguments[1] }
        == [.properties(["BytesVerified": .uint64(10), "State": .string("paused")])])
    #expect(ledger.nextTime == nil)
  }

  @Test("what comes and goes is told as the object manager does; what was never told of goes without a word")
  func comings() throws {
    var ledger = BusChangeLedger()
    let added = ledger.note(try object(0), at: Self.start)
    #expect(added.map(\.member) == ["InterfacesAdded"] && added.map(\.path) == [BusObject.root])
    #expect(ledger.remove(try object(0).path)?.member == "InterfacesRemoved")
    #expect(ledger.remove(try object(0).path) == nil)
  }

  @Test(
    "what is over makes room for what comes, and watchers are told that it is gone; what is not over stays")
  func bound() throws {
    var ledger = BusChangeLedger()
    func object(_ number: Int, _ state: DownloadStatus.State) throws -> BusObject {
      var object = try self.object(0, state)
      object.path = try #require(BusObject.downloads.appending(identifier: "d\(number)"))
      return object
    }
    ledger.begin(try (0..<BusChangeLedger.bound - 2).map { try object($0, .active) })
    ledger.begin([try object(5000, .finished), try object(5001, .cancelled)])
    for (number, gone) in [(5002, 5000), (5003, 5001)] {
      let signals = ledger.note(try object(number, .active), at: Self.start)
      #expect(signals.map(\.member) == ["InterfacesRemoved", "InterfacesAdded"])
      let paths = try [gone, number].map { try object($0, .active).path }
      #expect(signals.map(\.subject) == paths)
    }
    #expect(ledger.note(try object(5004, .active), at: Self.start).isEmpty, "there is no room")
    #expect(ledger.note(try object(0, .finished), at: Self.start).map(\.member) == ["PropertiesChanged"])
    let last = ledger.note(try object(5004, .active), at: Self.start)
    #expect(last.map(\.member) == ["InterfacesRemoved", "InterfacesAdded"])
  }

  @Test("what ended, came and went while nothing was heard is told afterwards, and nothing else")
  func renewal() throws {
    func object(_ number: Int, _ state: DownloadStatus.State) throws -> BusObject {
      var object = try self.object(0, state)
      object.path = try #require(BusObject.downloads.appending(identifier: "d\(number)"))
      return object
    }
    var ledger = BusChangeLedger()
    ledger.begin(try (0..<3).map { try object($0, .active) })
    let there = [try object(0, .active), try object(1, .finished), try object(3, .waiting)]
    let signals = ledger.renew(there, at: Self.start)
    #expect(signals.map(\.member) == ["InterfacesRemoved", "PropertiesChanged", "InterfacesAdded"])
    let paths = try [2, 1, 3].map { try object($0, .active).path }
    #expect(signals.map(\.subject) == paths)
    #expect(ledger.renew(there, at: Self.start).isEmpty)
  }

  @Test("one who missed that an object went is told so; of the agent itself there is nothing to tell")
  func missedRemovals() throws {
    var ledger = BusChangeLedger()
    ledger.begin([try object(0)])
    let path = try object(0).path
    #expect(ledger.whole(path)?.member == "InterfacesAdded")
    let removed = ledger.remove(path)
    #expect(ledger.whole(path) == removed && removed?.member == "InterfacesRemoved")
    #expect(ledger.whole(BusObject.root) == nil)
  }

  @Test(
    "a watcher that reads nothing gets 256 KiB; others lose nothing, and it is told anew when it reads on")
  func slowWatchers() throws {
    var watchers = BusWatchers()
    for name: BusName in [":1.1", ":1.2"] {
      let isAdded = watchers.add(name, user: 1)
      #expect(isAdded)
    }
    let path = try object(0).path
    var sent: [BusName: Int] = [:]
    var questions: [BusName: Int] = [:]
    for _ in 0..<1000 {
      let (recipients, asked) = watchers.send(1024, about: path)
      for name in recipients { sent[name, default: 0] += 1 }
      for name in asked {
        questions[name, default: 0] += 1
        // One of the two reads.
        if name == ":1.2" { #expect(watchers.answered(name).isEmpty) }
      }
    }
    #expect(sent == [":1.1": 256, ":1.2": 1000])
    #expect(questions[":1.1"] == 1)
    #expect(watchers.answered(":1.1") == [path])
    #expect(watchers.send(1024, about: path, to: ":1.1").recipients == [":1.1"])
  }

  @Test("watchers are bounded, in all and for each user")
  func manyWatchers() throws {
    var watchers = BusWatchers()
    var added: [Bool] = []
    var refused: [Bool] = []
    for user in 0..<4 {
      for number in 0..<16 {
        added.append(watchers.add(try #require(BusName(":\(user).\(number)")), user: UInt32(user)))
      }
      refused.append(watchers.add(try #require(BusName(":\(user).99")), user: UInt32(user)))
    }
    refused.append(watchers.add(":9.9", user: 9))
    // One that is there stays.
    added.append(watchers.add(":0.0", user: 0))
    #expect(added == [Bool](repeating: true, count: 65))
    #expect(refused == [Bool](repeating: false, count: 5))
  }
}
