import PullboxTesting
import Testing

@testable import ContentCatalog

@Suite("Persistent dictionaries")
struct PersistentDictionaryTests {
  @Test("after any changes it has what a dictionary has, and each copy what it had when it was made")
  func model() {
    var generator = SplitMix(seed: 11)
    var dictionary = PersistentDictionary<Int, Int>()
    var model: [Int: Int] = [:]
    var copies: [(PersistentDictionary<Int, Int>, [Int: Int])] = []
    for step in 0..<20_000 {
      let key = Int.random(in: 0..<5000, using: &generator)
      switch Int.random(in: 0..<4, using: &generator) {
      case 0: #expect(dictionary.removeValue(forKey: key) == model.removeValue(forKey: key))
      case 1: (dictionary[key], model[key]) = (nil, nil)
      case 2:
        dictionary.change(key, or: -1) { $0 += step }
        model[key, default: -1] += step
      default: (dictionary[key], model[key]) = (step, step)
      }
      #expect(dictionary.count == model.count)
      if step % 4000 == 0 { copies.append((dictionary, model)) }
    }
    for (dictionary, model) in copies + [(dictionary, model)] {
      #expect(Dictionary(uniqueKeysWithValues: dictionary.map { ($0.key, $0.value) }) == model)
      #expect((0..<5000).allSatisfy { dictionary[$0] == model[$0] })
    }
  }
}
