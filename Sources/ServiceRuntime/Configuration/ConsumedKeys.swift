/// Remembers which keys of a configuration there are and which were asked for. Used by one decoding, on one
/// thread.
final class ConsumedKeys {
  private var present: Set<String> = []
  private var asked: Set<String> = []

  func note(present keys: some Sequence<String>) {
    present.formUnion(keys)
  }

  func note(asked key: String) {
    asked.insert(key)
  }

  /// For a decoding that ended early: throws for a key that looks like one that was asked for and is not there. Of the
  /// others nobody knows whether they would have been asked for.
  func checkNothingMisspelt() throws(ConfigurationError) {
    let missing = asked.subtracting(present)
    for key in present.subtracting(asked).sorted() {
      guard let near = missing.filter({ EditDistance.distance($0, key) <= 2 }).min() else { continue }
      throw ConfigurationError(subject: key, message: "there is no such key; did you mean '\(near)'?")
    }
  }

  /// Throws for the first key, by the alphabet, that nobody asked for.
  func checkNothingUnknown() throws(ConfigurationError) {
    guard let unknown = present.subtracting(asked).min() else { return }
    let near = asked.subtracting(present).filter { EditDistance.distance($0, unknown) <= 2 }.min()
    throw ConfigurationError(
      subject: unknown,
      message: near.map { "there is no such key; did you mean '\($0)'?" } ?? "there is no such key")
  }
}
