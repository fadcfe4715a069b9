import AgentRecords
import CoreTypes
import Files
import ServiceRuntime
import SystemCalls

extension AgentService {
  /// The device's identity and the agent's records, with what the configuration asks to be made anew.
  /// `mayBegin` says that whatever lies at the library's path is the library from now on, since a rebuild was
  /// asked for. Blocks.
  static func openState(
    _ configuration: AgentConfiguration, paths: StatePaths, operations: any FileOperations, log: Log,
    at now: Timestamp
  ) throws -> (identity: DeviceIdentity, database: AgentDatabase, mayBegin: Bool) {
    let replaces = configuration.newIdentity == true
    var isUsed = try AgentDatabase.isUsed(paths.database, operations)
    // A first start that was cut off may leave records before the device has its name and key.
    if isUsed, try !DeviceIdentity.isThere(in: paths.state) {
      isUsed = try !AgentDatabase.isBlank(paths.database)
    }
    if !replaces, isUsed { _ = try DeviceIdentity.load(from: paths.state, isExpected: true) }
    if configuration.rebuild == true, isUsed {
      let aside = try AgentDatabase.setAside(paths.database, "replaced", at: now, operations)
      log.warning("the agent's records are made anew", ["kept": LogValue(aside)])
    }
    let opened = try AgentDatabase.open(paths.database, log: log, at: now, operations: operations)
    let database = opened.database
    let hadIdentity = try FileSystem.status(of: "\(paths.state)/device-key") != nil
    let isRebuilt = configuration.rebuild == true
    // The records of a device that was in use are gone: where its library is not there, it is to be waited for.
    if opened.isNewAfterDamage || !isUsed && hadIdentity, !isRebuilt { try database.expect(.unknown) }
    if replaces {
      try database.forgetGrants()
      try DeviceIdentity.setAside(in: paths.state, at: now)
    }
    let identity = try DeviceIdentity.load(from: paths.state, isExpected: isUsed && !replaces)
    if replaces {
      log.warning("the device has a new identity", ["device": LogValue("\(identity.identifier)")])
    }
    return (identity, database, isRebuilt)
  }
}
