import PullboxTesting
import Testing

/// Bounded runs of the fuzz targets of this folder, from the inputs of `Fuzzing/corpus` and the words of `Fuzzing/*.dict`; `scripts/fuzz` runs
/// them without bounds.
@Suite("Heads of responses, changed at random")
struct FuzzTests {
  @Test("no mutation of an input breaks a rule", arguments: FuzzTarget.allCases)
  func mutations(_ target: FuzzTarget) throws {
    var mutator = try Mutator(seed: 45, corpus: target.rawValue)
    if let failure = mutator.firstFailure(in: 20_000, of: target.check) {
      Issue.record("\(target): \(failure)")
    }
  }
}
