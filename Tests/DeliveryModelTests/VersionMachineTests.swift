import CoreTypes
import PullboxAPI
import ServiceAPI
import Testing

@testable import DeliveryModel

@Suite("Content version state machine")
struct VersionMachineTests {
  private static let date = Timestamp(millisecondsSinceEpoch: 1_795_249_800_000)
  private static let tenth = RolloutPercentage(percentage: 10) ?? .all
  private static let half = RolloutPercentage(percentage: 50) ?? .all

  /// A version in that state as the steps leave it.
  private static func machine(in state: VersionState, share: RolloutPercentage = .all) -> VersionMachine {
    let isReviewed = state != .draft && state != .submitted && state != .rejected
    return VersionMachine(
      state: state, share: state == .released ? share : nil, submittedBy: state == .draft ? nil : "ada",
      approvedBy: isReviewed ? "bob" : nil)
  }

  private static let steps: [(name: String, step: VersionMachine.Step)] = [
    ("submit", .submit), ("approve", .approve(needsSecondKey: false)), ("reject", .reject),
    ("release", .release(.all)), ("schedule", .schedule(at: date, .all)), ("cancel", .cancelSchedule),
    ("withdraw", .withdraw(stopsDownloads: false)), ("supersede", .supersede), ("pause", .pause),
  ]

  /// The state that each step leads to from each state; a step that is not here is refused.
  private static let transitions: [VersionState: [String: VersionState]] = [
    .draft: ["submit": .submitted],
    .submitted: ["submit": .submitted, "approve": .approved, "reject": .rejected],
    .approved: [
      "approve": .approved, "reject": .rejected, "release": .released, "schedule": .approved,
      "cancel": .approved,
    ],
    .rejected: ["submit": .submitted, "reject": .rejected],
    .released: [
      "release": .released, "schedule": .released, "cancel": .released, "withdraw": .withdrawn,
      "supersede": .superseded, "pause": .superseded,
    ],
    .superseded: [
      "release": .released, "schedule": .superseded, "cancel": .superseded, "withdraw": .withdrawn,
    ],
    .withdrawn: ["withdraw": .withdrawn],
  ]

  @Test("every step from every state leads where the table says, or is refused and changes nothing")
  func table() {
    for state in VersionState.allCases {
      for (name, step) in Self.steps {
        var machine = Self.machine(in: state)
        let before = machine
        if let next = Self.transitions[state]?[name] {
          #expect(throws: Never.self, "\(name) from \(state)") { try machine.handle(step, by: "cem") }
          #expect(machine.state == next, "\(name) from \(state)")
        } else {
          #expect(throws: VersionMachine.Refusal.state(state), "\(name) from \(state)") {
            try machine.handle(step, by: "cem")
          }
          #expect(machine == before)
        }
      }
    }
  }

  @Test("a step repeated at once changes nothing")
  func repeated() throws {
    for state in VersionState.allCases {
      for (name, step) in Self.steps
      where Self.transitions[state]?[name] != nil && name != "supersede" && name != "pause" {
        var machine = Self.machine(in: state)
        try machine.handle(step, by: "cem")
        let once = machine
        try machine.handle(step, by: "dan")
        #expect(machine == once, "\(name) twice from \(state)")
      }
    }
  }

  @Test(
    "the key that took a step before others went on takes it again without harm; any other key is refused")
  func repeatedLater() throws {
    for state in [VersionState.approved, .released, .superseded] {
      var machine = Self.machine(in: state)
      let before = machine
      try machine.handle(.submit, by: "ada")
      #expect(throws: VersionMachine.Refusal.state(state)) { try machine.handle(.submit, by: "bob") }
      if state != .approved {
        try machine.handle(.approve(needsSecondKey: true), by: "bob")
        #expect(throws: VersionMachine.Refusal.state(state)) {
          try machine.handle(.approve(needsSecondKey: false), by: "ada")
        }
      }
      #expect(machine == before)
    }
    var withdrawn = Self.machine(in: .withdrawn)
    #expect(throws: VersionMachine.Refusal.state(.withdrawn)) { try withdrawn.handle(.submit, by: "ada") }
  }

  @Test("only what is released has a share, and only what may be released yet a date")
  func members() {
    for state in VersionState.allCases {
      for (_, first) in Self.steps {
        for (_, second) in Self.steps {
          var machine = Self.machine(in: state)
          // Refusals are the table's affair.
          try? machine.handle(first, by: "cem")
          try? machine.handle(second, by: "cem")
          #expect((machine.share != nil) == (machine.state == .released))
          if machine.schedule != nil {
            #expect([.approved, .released, .superseded].contains(machine.state))
          }
        }
      }
    }
  }

  @Test("who handed a version in may not approve it where two keys are asked for")
  func secondKey() throws {
    var machine = VersionMachine()
    try machine.handle(.submit, by: "ada")
    #expect(throws: VersionMachine.Refusal.needsSecondKey("ada")) {
      try machine.handle(.approve(needsSecondKey: true), by: "ada")
    }
    #expect(machine.state == .submitted)
    try machine.handle(.approve(needsSecondKey: true), by: "bob")
    #expect(machine.approvedBy == "bob")
  }

  @Test("where one key is enough, who handed it in may approve it")
  func oneKey() throws {
    var machine = VersionMachine()
    try machine.handle(.submit, by: "ada")
    try machine.handle(.approve(needsSecondKey: false), by: "ada")
    #expect(machine.approvedBy == "ada")
  }

  @Test("handed in again after a rejection, it is the later hand that may not approve")
  func handedInAgain() throws {
    var machine = VersionMachine()
    try machine.handle(.submit, by: "ada")
    try machine.handle(.reject, by: "bob")
    try machine.handle(.submit, by: "bob")
    #expect(throws: VersionMachine.Refusal.needsSecondKey("bob")) {
      try machine.handle(.approve(needsSecondKey: true), by: "bob")
    }
    try machine.handle(.approve(needsSecondKey: true), by: "ada")
  }

  @Test("a share can be raised and lowered until all devices have it; then there is no way back to a part")
  func shares() throws {
    var machine = Self.machine(in: .approved)
    for share in [Self.tenth, Self.half, Self.tenth, .all] {
      try machine.handle(.release(share), by: "ada")
      #expect(machine.share == share)
    }
    #expect(throws: VersionMachine.Refusal.isReleasedToAll) {
      try machine.handle(.release(Self.half), by: "ada")
    }
    #expect(throws: VersionMachine.Refusal.isReleasedToAll) {
      try machine.handle(.schedule(at: Self.date, Self.half), by: "ada")
    }
  }

  @Test(
    "a date can be changed and taken away, and goes with a release, a rejection, a withdrawal, a replacement")
  func dates() throws {
    var machine = Self.machine(in: .approved)
    try machine.handle(.schedule(at: Self.date, Self.tenth), by: "ada")
    try machine.handle(.schedule(at: Self.date + .seconds(60), .all), by: "bob")
    #expect(machine.schedule == VersionMachine.Schedule(at: Self.date + .seconds(60), share: .all, by: "bob"))
    try machine.handle(.cancelSchedule, by: "ada")
    #expect(machine.schedule == nil)
    let ends: [VersionMachine.Step] = [
      .release(.all), .withdraw(stopsDownloads: false), .supersede,
    ]
    for end in ends {
      var released = Self.machine(in: .released, share: Self.tenth)
      try released.handle(.schedule(at: Self.date, .all), by: "ada")
      try released.handle(end, by: "ada")
      #expect(released.schedule == nil)
    }
    try machine.handle(.schedule(at: Self.date, .all), by: "ada")
    try machine.handle(.reject, by: "ada")
    #expect(machine.schedule == nil)
  }

  @Test("downloads can be stopped with the withdrawal or after it, and stay stopped")
  func stops() throws {
    var machine = Self.machine(in: .released)
    try machine.handle(.withdraw(stopsDownloads: false), by: "ada")
    #expect(!machine.downloadsAreStopped)
    try machine.handle(.withdraw(stopsDownloads: true), by: "ada")
    try machine.handle(.withdraw(stopsDownloads: false), by: "ada")
    #expect(machine.downloadsAreStopped)
  }
}
