import CoreTypes
package import Monitoring

extension AdmissionControl: MetricSource {
  /// Adds the requests that were admitted and refused since the start, and those in progress and waiting now, by class;
  /// and the memory that their bodies have.
  package func register(in metrics: inout MetricRegistry) {
    let admission: [Metric<[AdmissionClass: Counts]>] = [
      .counter("pullbox_admission_admitted_total", help: "Requests admitted, by class.", labels: ["class"]) {
        counts in
        AdmissionClass.allCases.map { .init(counts[$0]?.admitted ?? 0, labels: [$0.rawValue]) }
      },
      .counter(
        "pullbox_admission_refused_total", help: "Requests refused before they began, by class and reason.",
        labels: ["class", "reason"]
      ) { counts in
        AdmissionClass.allCases.flatMap { kind in
          Reason.allCases.map { .init(counts[kind]?.refused[$0] ?? 0, labels: [kind.rawValue, $0.rawValue]) }
        }
      },
      .gauge(
        "pullbox_admission_in_progress",
        help: "Requests that are not answered yet and have their bodies, by class.",
        labels: ["class"]
      ) { counts in
        AdmissionClass.allCases.map { .init(counts[$0]?.inProgress ?? 0, labels: [$0.rawValue]) }
      },
      .gauge(
        "pullbox_admission_waiting",
        help: "Requests that wait for a place among those in progress, by class.",
        labels: ["class"]
      ) { counts in
        AdmissionClass.allCases.map { .init(counts[$0]?.waiting ?? 0, labels: [$0.rawValue]) }
      },
    ]
    metrics.register(admission) { self.counts }
    metrics.register([
      .gauge("pullbox_request_body_bytes", help: "Memory reserved for request bodies.") {
        self.bodies.bytesHeld
      },
      .gauge("pullbox_request_body_budget_bytes", help: "What may be reserved for request bodies.") {
        self.limits.bodyBytes.rawValue
      },
      .counter(
        "pullbox_request_bodies_refused_total", help: "Request bodies that were not read to their end.",
        labels: ["reason"]
      ) {
        let refusals = self.bodies.refusals
        return [
          .init(refusals.noRoom, labels: ["no-room"]), .init(refusals.timedOut, labels: ["too-slow"]),
        ]
      },
    ])
  }
}
