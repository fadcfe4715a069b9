import Commerce
import CoreTypes
import PullboxAPI
import ServiceAPI
import Testing

@testable import DeliveryModel

@Suite("Releases of one product's versions")
struct RolloutPlanTests {
  private static func version(_ text: String) -> ContentVersion {
    guard let version = ContentVersion(text) else { preconditionFailure("\(text) is a version") }
    return version
  }

  private static func share(_ percentage: Int) -> RolloutPercentage {
    guard let share = RolloutPercentage(percentage: percentage) else {
      preconditionFailure("not a percentage")
    }
    return share
  }

  private let first = version("1.0")
  private let second = version("1.1")
  private let third = version("1.2")
  private static let approved = VersionMachine(state: .approved, submittedBy: "ada", approvedBy: "bob")

  private var plan: RolloutPlan {
    RolloutPlan([first: Self.approved, second: Self.approved, third: Self.approved])
  }

  @Test("a release to all takes the place of the version before")
  func all() throws {
    var plan = plan
    #expect(try plan.handle(.release(.all), of: first, by: "ada") == [first])
    #expect(try plan.handle(.release(.all), of: second, by: "ada") == [first, second])
    #expect(plan.toAll == second)
    #expect(plan.versions[first]?.state == .superseded)
  }

  @Test("a release to a part leaves the version before to the others, until all have it")
  func part() throws {
    var plan = plan
    _ = try plan.handle(.release(.all), of: first, by: "ada")
    #expect(try plan.handle(.release(Self.share(10)), of: second, by: "ada") == [second])
    #expect(plan.toAll == first)
    #expect(plan.toPart?.version == second)
    _ = try plan.handle(.release(Self.share(50)), of: second, by: "ada")
    #expect(plan.toPart?.share.percentage == 50)
    #expect(try plan.handle(.release(.all), of: second, by: "ada") == [first, second])
    #expect(plan.toAll == second)
    #expect(plan.toPart == nil)
  }

  @Test("rolling back while a part has the newer version ends that release")
  func rollBackPart() throws {
    var plan = plan
    _ = try plan.handle(.release(.all), of: first, by: "ada")
    _ = try plan.handle(.release(Self.share(10)), of: second, by: "ada")
    #expect(try plan.handle(.release(.all), of: first, by: "ada") == [second])
    #expect(plan.toAll == first)
    #expect(plan.toPart == nil)
    #expect(plan.versions[second]?.state == .superseded)
  }

  @Test("a correction of a partial release takes its place")
  func correction() throws {
    var plan = plan
    _ = try plan.handle(.release(.all), of: first, by: "ada")
    _ = try plan.handle(.release(Self.share(10)), of: second, by: "ada")
    #expect(try plan.handle(.release(Self.share(10)), of: third, by: "ada") == [second, third])
    #expect(plan.toAll == first)
    #expect(plan.toPart?.version == third)
  }

  @Test("a withdrawal leaves nothing in the place of what all had, and the version before in that of a part")
  func withdrawal() throws {
    var plan = plan
    _ = try plan.handle(.release(.all), of: first, by: "ada")
    _ = try plan.handle(.release(Self.share(10)), of: second, by: "ada")
    var other = plan
    _ = try plan.handle(.withdraw(stopsDownloads: false), of: second, by: "ada")
    #expect(plan.toAll == first)
    #expect(plan.toPart == nil)
    _ = try other.handle(.withdraw(stopsDownloads: false), of: first, by: "ada")
    #expect(other.toAll == nil)
    #expect(other.toPart?.version == second)
  }

  @Test("in every plan that steps can lead to, one version at most is for all and one for a part")
  func everyPlan() throws {
    let date = Timestamp(millisecondsSinceEpoch: 1_795_249_800_000)
    var steps: [VersionMachine.Step] = [
      .submit, .approve(needsSecondKey: false), .reject, .cancelSchedule, .withdraw(stopsDownloads: true),
    ]
    for percentage in [10, 100] {
      steps += [.release(Self.share(percentage)), .schedule(at: date, Self.share(percentage))]
    }
    var seen: Set<RolloutPlan> = []
    var open = [RolloutPlan([first: VersionMachine(), second: VersionMachine()])]
    while let plan = open.popLast() {
      guard seen.insert(plan).inserted else { continue }
      for (version, machine) in plan.versions {
        // A version that waits for its date can be released when the date comes.
        if let schedule = machine.schedule {
          var due = plan
          #expect(throws: Never.self) { try due.handle(.release(schedule.share), of: version, by: "ada") }
          #expect(due.versions[version]?.schedule == nil)
        }
        for step in steps {
          var next = plan
          let changed: [ContentVersion]
          do throws(VersionMachine.Refusal) {
            changed = try next.handle(step, of: version, by: "ada")
          } catch {
            #expect(next == plan)
            continue
          }
          check(next, after: plan, changed: changed)
          open.append(next)
        }
      }
    }
    // 2 versions: every combination of their states, shares and dates that can be reached.
    #expect(seen.count > 100)
  }

  /// The rule holds after each of the changes, in the order in which they are written down.
  private func check(_ next: RolloutPlan, after plan: RolloutPlan, changed: [ContentVersion]) {
    var versions = plan.versions
    for version in changed {
      versions[version] = next.versions[version]
      let released = versions.values.filter { $0.state == .released }
      let toAll = released.filter { $0.share?.isAll == true }
      #expect(toAll.count <= 1)
      #expect(released.count - toAll.count <= 1)
    }
    #expect(versions == next.versions)
    #expect(Set(changed).count == changed.count)
  }
}
