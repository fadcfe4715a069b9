package import Commerce
import CoreTypes
import PullboxAPI
import ServiceAPI

/// The versions of one product together: which one a device gets, and what a step with one of them does to
/// the others. Pure. It may hold fewer than all versions, as long as those that are released are among them.
///
/// At most one version is released to all devices and at most one to a part of them. The part gets the
/// latter, all others the former.
package struct RolloutPlan: Hashable, Sendable {
  /// The versions that the plan knows, by number.
  package private(set) var versions: [ContentVersion: VersionMachine]

  /// Creates the plan. All released versions of the product must be among them.
  package init(_ versions: [ContentVersion: VersionMachine] = [:]) {
    self.versions = versions
  }

  /// The version for every device that is not in the part.
  package var toAll: ContentVersion? {
    versions.first { $0.value.state == .released && $0.value.share?.isAll == true }?.key
  }

  /// The version for a part of the devices, and the part; nil where there is none.
  package var toPart: (version: ContentVersion, share: RolloutPercentage)? {
    for (version, machine) in versions where machine.state == .released {
      if let share = machine.share, !share.isAll { return (version, share) }
    }
    return nil
  }

  /// How many devices of a hundred get a version. A device that a smaller number reaches, a larger one
  /// reaches as well.
  package var reach: Int {
    toAll == nil ? toPart?.share.percentage ?? 0 : RolloutPercentage.all.percentage
  }

  /// Nil where nothing is released to that device.
  package func version(for device: DeviceIdentifier, of product: ProductIdentifier) -> ContentVersion? {
    if let part = toPart, part.share.includes(device, of: product) { return part.version }
    return toAll
  }

  /// Takes the step with `version`, which must be one of ``versions``. Answers what has changed, in an order
  /// in which each change can be written down with no two versions released to all, or to a part, in between.
  /// Nothing changes when it throws.
  package mutating func handle(
    _ step: VersionMachine.Step, of version: ContentVersion, by actor: String
  ) throws(VersionMachine.Refusal) -> [ContentVersion] {
    guard var machine = versions[version] else { return [] }
    try machine.handle(step, by: actor)
    var changed: [ContentVersion] = []
    if case .release(let share) = step {
      // Another version for a part gives way to any release; another one for all, to one for all.
      for other in [toPart?.version, share.isAll ? toAll : nil] {
        guard let other, other != version, var replaced = versions[other] else { continue }
        try replaced.handle(.supersede, by: actor)
        versions[other] = replaced
        changed.append(other)
      }
    }
    if versions[version] != machine {
      versions[version] = machine
      changed.append(version)
    }
    return changed
  }
}
