extension GrantMachine.State {
  /// How the database spells it.
  var stored: String {
    switch self {
    case .granted: "granted"
    case .completed: "completed"
    case .finished: "finished"
    case .revoked(let before): "revoked/" + before.stored
    }
  }

  /// Nil for a spelling that ``stored`` never produces.
  init?(stored: String) {
    switch stored {
    case "granted": self = .granted
    case "completed": self = .completed
    case "finished": self = .finished
    case "revoked/granted": self = .revoked(was: .granted)
    case "revoked/completed": self = .revoked(was: .completed)
    case "revoked/finished": self = .revoked(was: .finished)
    default: return nil
    }
  }
}
