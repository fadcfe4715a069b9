import ContentGrants
import CoreTypes
import Database
import DeliverySchema
import Files
import PostgreSQLEngine
import ServiceRuntime
import SystemCalls

/// `pullbox-server --rotate-license-key`: adds a key that licenses are signed with, which the one before endorses. Servers that run sign with
/// it ten seconds later, and devices go on to it when they renew.
enum LicenseKeyRotation {
  /// Prints the new key's number. Needs the state directory, or the database, that `--state` and `--database` name, or the file of
  /// `--config`. Blocks.
  static func run(_ invocation: DaemonInvocation<DeliveryConfiguration>) -> ExitCode {
    do {
      let database = try database(invocation)
      defer { database.close() }
      let number = try LicenseKeys(database: database).rotate(at: SystemWallClock().now())
      let delay = DurationText.short(LicenseKeys.delay)
      StandardStream.output.write("license key \(number) is in front, and signs in \(delay)\n")
      return .done
    } catch {
      StandardStream.error.write("pullbox-server: the license key was not rotated: \(error)\n")
      return .failed
    }
  }

  private static func database(_ invocation: DaemonInvocation<DeliveryConfiguration>) throws -> Database {
    let arguments = invocation.arguments
    let configuration = try arguments.value("config").map { _ in try invocation.configuration() }
    let named = try DeliveryConfiguration.address(ofDatabase: arguments.value("database"))
    if let address = try configuration?.databaseAddress() ?? named {
      return try Database.open(
        address, schema: PostgreSQLSchema.definition,
        options: PostgreSQLOptions(writers: 1, readers: 1, claim: .none))
    }
    let path = try (configuration?.state ?? arguments.required("state")) + "/server.db"
    guard try FileSystem.status(of: path) != nil else {
      throw ConfigurationError(subject: "state", message: "there is no \(path)")
    }
    return try Database.open(path: path, migrations: Migrations.all, options: .small)
  }
}
