import CoreTypes
import Database
import PullboxAPI
import SandboxRecords
import ServiceAPI

extension PaymentStore {
  /// Sets who shares what the organizer buys. Throws `not-found` for an unknown account, `request-malformed` for more than
  /// five members or one that stands twice, and `state-conflict` for a member of another family. Renewals
  /// that have fallen due are made first. The rest is one database transaction: members who left lose the
  /// copies, and new ones get a copy of each purchase. An account is in one family, as organizer or as
  /// member.
  func setFamily(_ family: StoreFamily) async throws -> StoreFamily {
    guard family.members.count <= FamilyTable.maximumMembers,
      Set(family.members + [family.organizer]).count == family.members.count + 1
    else {
      throw Problem(
        .requestMalformed, "a family has \(FamilyTable.maximumMembers) members besides its organizer")
    }
    try await catchUp()
    try await database.write(locking: [.everything]) { [clock] connection in
      let organizer = try AccountTable.named(family.organizer, in: connection)
      let members = try family.members.map { try AccountTable.named($0, in: connection) }
      let earlier = try FamilyTable.members(of: organizer.id, in: connection)
      for member in members where !earlier.contains(member) {
        let isElsewhere = try FamilyTable.organizer(of: member.id, in: connection) != nil
        guard !isElsewhere, try FamilyTable.members(of: member.id, in: connection).isEmpty else {
          throw Problem(.stateConflict, "\(member.name) is of another family")
        }
      }
      guard try FamilyTable.organizer(of: organizer.id, in: connection) == nil else {
        throw Problem(.stateConflict, "\(organizer.name) is of another family")
      }
      for member in earlier where !members.contains(member) {
        try FamilyTable.remove(member.id, in: connection)
        try FamilySharing.end(with: member, at: clock.now().wholeSeconds, in: connection)
      }
      for member in members where !earlier.contains(member) {
        try FamilyTable.add(member.id, to: organizer.id, in: connection)
        try FamilySharing.shareAll(of: organizer, with: member, in: connection)
      }
    }
    return family
  }
}
