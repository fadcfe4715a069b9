package import PullboxAPI
package import ServiceAPI

/// Where a product stands between its description and the shop window.
///
/// ```
/// draft ── submit ──▶ submitted ── approve ──▶ cleared ── withdraw ──▶ withdrawn
///   ▲                  │      └─── reject ───▶ rejected ─ submit ─▶ …      │
///   └──── withdraw ────┘                          submit, or put on sale ──┘
/// ```
///
/// Pure: the shell writes down what it says.
package struct SaleMachine: Hashable, Sendable {
  /// The steps that an operator asks for.
  package enum Step: Hashable, Sendable {
    /// Handed in for review; a product that is handed in already begins anew.
    case submit
    /// A reviewer clears it for sale.
    case approve
    /// A reviewer refuses it.
    case reject
    /// Taken off sale, or its submission back.
    case withdraw
    /// To be sold without another review.
    case putOnSale
  }

  /// The rules of review that the server is configured with.
  package struct Rules: Hashable, Sendable {
    /// Nothing is for sale that was not approved.
    package var requiresReview = false
    /// Another key approves than the one that submitted.
    package var requiresSecondKey = false

    /// No description takes a product off sale: that is a step, which another operator approves.
    package var requiresSecondOperator = false

    /// Without arguments, one key alone puts a product on sale, and takes it off sale.
    package init(
      requiresReview: Bool = false, requiresSecondKey: Bool = false, requiresSecondOperator: Bool = false
    ) {
      self.requiresReview = requiresReview
      self.requiresSecondOperator = requiresSecondOperator
      self.requiresSecondKey = requiresSecondKey
    }
  }

  /// Why a step is refused.
  package enum Refusal: Error, Hashable, Sendable {
    /// The step is none of this state.
    case state(SaleState)
    /// It is for sale only once a review has approved of it.
    case needsReview(SaleState)
    /// The key of that name handed it in, and another one has to approve.
    case needsSecondKey(String)
  }

  /// The state, as the product's row has it.
  package var state: SaleState
  /// The key that submitted it last; nil for what never was.
  package var submittedBy: String?
  /// Whether the last review approved of it as it is.
  package var isApproved = false

  /// Creates the machine of a product as its row has it.
  package init(state: SaleState, submittedBy: String? = nil, isApproved: Bool = false) {
    self.state = state
    self.submittedBy = submittedBy
    self.isApproved = isApproved
  }

  /// Throws ``Refusal``; nothing has changed then. A step to where the product is already changes nothing.
  /// `actor` is the name of the operator key.
  package mutating func handle(_ step: Step, by actor: String, under rules: Rules) throws(Refusal) {
    switch (step, state) {
    case (.submit, .draft), (.submit, .submitted), (.submit, .rejected), (.submit, .withdrawn):
      state = .submitted
      submittedBy = actor
      isApproved = false
    case (.approve, .submitted):
      if rules.requiresSecondKey, let submittedBy, submittedBy == actor {
        throw .needsSecondKey(submittedBy)
      }
      state = .cleared
      isApproved = true
    case (.approve, .cleared): break
    case (.reject, .submitted): state = .rejected
    case (.reject, .rejected): break
    case (.withdraw, .cleared): state = .withdrawn
    case (.withdraw, .submitted): state = .draft
    case (.withdraw, .withdrawn), (.withdraw, .draft), (.withdraw, .rejected): break
    case (.putOnSale, .cleared): break
    case (.putOnSale, .draft), (.putOnSale, .withdrawn):
      guard isApproved || !rules.requiresReview else { throw .needsReview(state) }
      state = .cleared
    // A reviewer has the word, whatever the server asks for.
    case (.putOnSale, .submitted), (.putOnSale, .rejected): throw .needsReview(state)
    default: throw .state(state)
    }
  }

  /// The product is described as something else than what was reviewed: how it is sold, or what it opens.
  package mutating func becameAnother(under rules: Rules) {
    isApproved = false
    guard rules.requiresReview, state != .draft else { return }
    state = .draft
  }
}

extension Problem {
  /// Creates the problem that tells an operator why a step is refused.
  package init(_ refusal: SaleMachine.Refusal, of product: String) {
    switch refusal {
    case .state(let state): self.init(.stateConflict, "\(product) is \(state.rawValue)")
    case .needsReview(let state):
      self.init(
        .stateConflict, "\(product) is \(state.rawValue): it is for sale once a review has approved of it")
    case .needsSecondKey(let name):
      self.init(
        .secondKeyRequired,
        "\(product) was handed in by the key \(name); this server wants another key's approval")
    }
  }
}
