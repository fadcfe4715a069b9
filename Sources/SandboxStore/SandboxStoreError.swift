/// Why the store cannot do what it was about to do with a transaction.
struct SandboxStoreError: Error, Hashable, Sendable, CustomStringConvertible {
  let description: String

  init(_ description: String) {
    self.description = description
  }
}
