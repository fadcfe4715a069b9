import HTTPServer
import PullboxAPI
import PullboxAPIServer

/// The conditions of the machine.
extension ControlInterface {
  /// Adds the route that tells them.
  func addConditions(to routes: inout APIRoutes) {
    routes.on(.get, "/v1/conditions") { _, _ in try .json(await conditions.status()) }
  }

  /// Throws `request-malformed` for a condition that no download can pass.
  static func check(ignored: [MachineConditionName]?) throws(Problem) {
    guard let wrong = ignored?.first(where: { !MachineConditionName.ignorable.contains($0) }) else { return }
    let words = MachineConditionName.allCases.filter(MachineConditionName.ignorable.contains).map(\.rawValue)
    throw Problem(
      .requestMalformed, "no download passes '\(wrong.rawValue)'; of \(words.joined(separator: ", "))")
  }
}
