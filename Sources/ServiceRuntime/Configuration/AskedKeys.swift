/// Remembers which keys of a configuration there are and which were asked for. Used by one decoding, on one
/// thread.
final class AskedKeys {
  private var present: Set<String> = []
  private var asked: Set<String> = []

  func note(present keys: some Sequence<String>) {
    present.formUnion(keys)
  }

  func note(asked key: String) {
    asked.insert(key)
  }

  var isComplete: Bool { present.isSubset(of: asked) }

  /// Throws for the first key, by the alphabet, that nobody asked for.
  func checkNothingUnknown() throws(ConfigurationError) {
    guard let unknown = present.subtracting(asked).min() else { return }
    let near = asked.subtracting(present).filter { Spelling.distance($0, unknown) <= 2 }.min()
    throw ConfigurationError(
      subject: unknown,
      message: near.map { "there is no such key; did you mean '\($0)'?" } ?? "there is no such key")
  }
}
