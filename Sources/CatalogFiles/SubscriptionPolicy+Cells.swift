import PullboxAPI
import ServiceAPI

/// A member of a publication's policy as a cell of a catalog's file.
extension SubscriptionPolicy.Member {
  private enum Place {
    case truth(WritableKeyPath<SubscriptionPolicy, Bool?>)
    case number(WritableKeyPath<SubscriptionPolicy, Int?>)
  }

  private var place: Place {
    switch self {
    case .keepsIssuesAfterLapse: .truth(\.keepsIssuesAfterLapse)
    case .latestIssueAtStart: .truth(\.latestIssueAtStart)
    case .backIssues: .number(\.backIssues)
    case .toleranceSeconds: .number(\.toleranceSeconds)
    case .servesInGrace: .truth(\.servesInGrace)
    case .servesInBillingRetry: .truth(\.servesInBillingRetry)
    case .keepsIssuesOfUnrecoveredGrace: .truth(\.keepsIssuesOfUnrecoveredGrace)
    case .keepsRevokedIssues: .truth(\.keepsRevokedIssues)
    }
  }

  /// False where it cannot have that text.
  func set(_ text: String, of policy: inout SubscriptionPolicy) -> Bool {
    switch place {
    case .truth(let member):
      policy[keyPath: member] = ["true": true, "false": false][text]
      return policy[keyPath: member] != nil
    case .number(let member):
      policy[keyPath: member] = Int(text)
      return policy[keyPath: member] != nil
    }
  }

  /// Empty for nothing.
  func text(of policy: SubscriptionPolicy) -> String {
    switch place {
    case .truth(let member): policy[keyPath: member].map { "\($0)" } ?? ""
    case .number(let member): policy[keyPath: member].map { "\($0)" } ?? ""
    }
  }
}
