import CoreTypes
import Crypto
import PullboxAPI
import ServiceAPI

/// The parts that forms of steps have in common.
enum StepForm {
  /// Names the step and its repetitions, and the state that it is decided of.
  @MarkupBuilder
  static func hidden(_ tag: String?) -> Markup {
    element(.input, .input(.hidden), .name("once"), .value(RandomBytes.token(bits: 128)))
    if let tag { element(.input, .input(.hidden), .name("tag"), .value(tag)) }
  }

  /// The state that a form is about. Throws `request-malformed` for a form without one: it would change whatever is there by now.
  static func tag(of form: FormBody, _ words: Words) throws(Problem) -> String {
    guard let tag = form.text("tag") else { throw Problem(.requestMalformed, words(.formWithoutState)) }
    return tag
  }

  /// The sentence of a refusal; of one that came too late, who changed what meanwhile.
  static func refusal(_ problem: Problem, meanwhile: AuditEntry?, _ visit: Visit) -> Markup {
    let words = visit.words
    return element(.div, .look(.problem), .role(.alert)) {
      element(.p) { Parts.refusal(problem, words) }
      if problem.code == .preconditionFailed, let meanwhile {
        element(.p) {
          words(.meanwhile) + " "
          Markup.foreign(meanwhile.actor)
          " " + words.action(meanwhile.action) + ", "
          Parts.time(meanwhile.at, words)
        }
      }
      for fault in problem.faults ?? [] where fault.code != EditedFields.unreadable {
        element(.p) { Markup.foreign("\(fault.path.map { "\($0): " } ?? "")\(fault.detail)") }
      }
    }
  }

  /// The detail of an entry; of a request for a second operator it leads there.
  private static func detail(_ entry: AuditEntry) -> Markup {
    let parts = entry.subject.split(separator: " ").map(String.init)
    guard entry.about != nil, parts.count == 2, parts[0] == "approval" else {
      return entry.detail.map { .foreign($0) } ?? .nothing
    }
    return Parts.link(.console("approvals", parts[1]), entry.detail ?? entry.subject)
  }

  /// Entries of the audit log, the newest first.
  static func history(_ entries: [AuditEntry], _ visit: Visit) -> Markup {
    let words = visit.words
    guard !entries.isEmpty else { return element(.p) { words(.noEntries) } }
    return Parts.table(
      words(.history), [words(.when), words(.actor), words(.action), words(.detail)],
      entries.map { entry in
        [
          .init(Parts.time(entry.at, words)), .init(.foreign(entry.actor)), .init(words.action(entry.action)),
          .init(detail(entry)),
        ]
      })
  }
}
