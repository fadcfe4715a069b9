/// What the store cannot work with: its configuration, or what it finds in its own state directory.
struct SandboxStoreError: Error, Hashable, Sendable, CustomStringConvertible {
  let description: String

  init(_ description: String) {
    self.description = description
  }
}
