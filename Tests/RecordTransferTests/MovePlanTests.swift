import CoreTypes
import PostgreSQLEngine
import Testing

@testable import DeliveryRecords
@testable import RecordTransfer

@Suite("The next step of a move")
struct MovePlanTests {
  private static let now = Timestamp(millisecondsSinceEpoch: 1_795_249_800_000)

  private static func mark(_ move: String, _ state: MoveMark.State, other: String = "/a") -> MoveMark {
    MoveMark(move: move, state: state, other: other, at: now)
  }

  private func plan(
    _ source: MoveMark?, _ target: MoveMark?, sourceHasRecords: Bool = true, targetHasRecords: Bool
  ) throws(RecordTransferError) -> MovePlan {
    try MovePlan(
      from: MovePlan.Side(name: "/a", mark: source, hasRecords: sourceHasRecords),
      to: MovePlan.Side(name: "/b", mark: target, hasRecords: targetHasRecords))
  }

  @Test("records go into an empty place, from one that was never moved and from one that they came to")
  func first() throws {
    #expect(try plan(nil, nil, targetHasRecords: false) == .copy)
    #expect(try plan(Self.mark("1", .arrived), nil, targetHasRecords: false) == .copy)
  }

  @Test("a move that was broken off before the source was left begins again, whatever has come")
  func again() throws {
    #expect(try plan(nil, Self.mark("1", .arriving), targetHasRecords: true) == .copy)
    #expect(try plan(Self.mark("0", .arrived), Self.mark("1", .arriving), targetHasRecords: false) == .copy)
  }

  @Test("a move that was broken off after that is completed, and one that was completed is not made twice")
  func completed() throws {
    let arriving = Self.mark("1", .arriving)
    #expect(
      try plan(Self.mark("1", .left, other: "/b"), arriving, targetHasRecords: true) == .finish(arriving))
    let arrived = Self.mark("1", .arrived)
    #expect(
      try plan(Self.mark("1", .left, other: "/b"), arrived, targetHasRecords: true) == .nothing(arrived))
  }

  @Test("records go back to the place that they came from, over those that they once were")
  func back() throws {
    #expect(try plan(Self.mark("1", .arrived), Self.mark("1", .left), targetHasRecords: true) == .copy)
  }

  @Test(
    "anything else is refused: the target has records, or those of another move; the source has none, or not all",
    arguments: [
      (nil, nil, true, true, "/b is not empty: records come into an empty place"),
      (nil, mark("1", .arrived), true, true, "/b is not empty: records come into an empty place"),
      (
        nil, mark("1", .left, other: "/c"), true, true,
        "/b: its records were moved to /c at 2026-11-21T08:30:00.000Z, and a server of theirs starts there"
      ),
      (
        mark("2", .arrived), mark("1", .left, other: "/c"), true, true,
        "/b: its records were moved to /c at 2026-11-21T08:30:00.000Z, and a server of theirs starts there"
      ),
      (
        nil, mark("1", .arriving, other: "/c"), true, true,
        "/b: a move of records from /c was begun there; complete it, or empty the place"
      ),
      (nil, nil, false, false, "/a has no records"),
      (
        mark("1", .arriving, other: "/c"), nil, true, false,
        "/a: records are on their way to here from /c, and not all have come; give the same command again"
      ),
      (
        mark("1", .left, other: "/c"), nil, true, false,
        "/a: its records were moved to /c at 2026-11-21T08:30:00.000Z, and a server of theirs starts there"
      ),
      (
        mark("1", .left, other: "/c"), mark("2", .arriving), true, true,
        "/a: its records were moved to /c at 2026-11-21T08:30:00.000Z, and a server of theirs starts there"
      ),
    ] as [(MoveMark?, MoveMark?, Bool, Bool, String)])
  func refused(source: MoveMark?, target: MoveMark?, sourceHas: Bool, targetHas: Bool, sentence: String) {
    let error = #expect(throws: RecordTransferError.self) {
      try plan(source, target, sourceHasRecords: sourceHas, targetHasRecords: targetHas)
    }
    #expect(error?.message == sentence)
  }

  @Test("of all pairs of marks, a place that others use is never written over")
  func everyPair() {
    let marks: [MoveMark?] =
      [nil]
      + ["1", "2"].flatMap { move in
        [MoveMark.State.arriving, .arrived, .left].map { Self.mark(move, $0) }
      }
    for source in marks {
      for target in marks where target?.state == .arrived || target == nil {
        #expect((try? plan(source, target, targetHasRecords: true)) != .copy)
      }
      for target in marks where source?.state == .left || source?.state == .arriving {
        #expect((try? plan(source, target, targetHasRecords: false)) != .copy)
      }
    }
  }
}
