import PullboxTesting
import SystemCalls

/// The keys and certificates that a store makes at its first start. Five of the keys are of RSA and take a second of processor time in
/// all, most of what starting a store takes. One store of a process of tests makes them, and the others get copies.
enum StoreKeys {
  private static let template = Task { try await make() }

  private static func make() async throws -> DirectoryTemplate {
    let directory = try TemporaryDirectory()
    let state = directory.path("store")
    let daemon = try await Daemon.start(
      "pullbox-sandbox",
      [
        "--listen", "127.0.0.1:0", "--state", state, "--catalog", "http://127.0.0.1:9", "--server-credential",
        "store-credential-of-a-test",
      ], name: "store", in: directory)
    await daemon.process.killAndWait()
    // The rest is made in no time, and differs from store to store.
    let rest: Set<String> = [
      "lock", "store.sqlite", "store.sqlite-wal", "store.sqlite-shm", "store.sqlite-reserve",
      "google-service-account.json",
    ]
    return try withExtendedLifetime(directory) { try DirectoryTemplate(reading: state, leavingOut: rest) }
  }

  /// Puts copies into the directory at `path`, which is made unless it is there. Throws what starting a store throws, or
  /// `SystemError`, also where there are keys.
  static func put(into path: String) async throws { try await template.value.copy(to: path) }
}
