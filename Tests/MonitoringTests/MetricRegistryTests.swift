import PullboxTesting
import Testing

@testable import Monitoring

@Suite("Metric registry")
struct MetricRegistryTests {
  @Test("of what several processes share, the page of the one that speaks for all alone tells")
  func shared() async throws {
    let speaks = Locked(true)
    var registry = MetricRegistry(speaksForAll: { speaks.current })
    registry.register([.counter("own_total", help: "Own.") { 1 }])
    let all: [Metric<Int>] = [.gauge("all", help: "All.") { $0 }]
    registry.registerShared(all) { 2 }
    #expect(await registry.page().contains("\nall 2\n"))
    speaks.withLock { $0 = false }
    let page = await registry.page()
    #expect(page.contains("\nown_total 1\n"))
    #expect(!page.contains("all 2"))
    #expect(page.contains("\npullbox_metrics_unreadable 0\n"))
  }

  @Test("the page has what was registered, in that order, and reads one snapshot for metrics that share it")
  func registry() async throws {
    let reads = Locked(0)
    var registry = MetricRegistry()
    registry.register([.counter("a_total", help: "A.") { 3 }])
    let pair: [Metric<Int>] = [
      .gauge("b", help: "B.", labels: ["x", "y"]) { [.init($0, labels: ["1", "a\"b"])] },
      .gauge("c", help: "C.") { $0 },
    ]
    registry.register(pair) {
      reads.withLock { reads in
        reads += 1
        return reads
      }
    }
    let expected = """
      # HELP a_total A.
      # TYPE a_total counter
      a_total 3
      # HELP b B.
      # TYPE b gauge
      b{x="1",y="a\\"b"} 1
      # HELP c C.
      # TYPE c gauge
      c 1
      # HELP pullbox_metrics_unreadable Sources whose metrics could not be read and are missing from this page.
      # TYPE pullbox_metrics_unreadable gauge
      pullbox_metrics_unreadable 0

      """
    #expect(await registry.page() == expected)
    #expect(reads.current == 1)
  }

  @Test(
    "no label's value ends its line or its quotation marks",
    arguments: [
      ("a\r\nb", "a\r\\nb"), ("a\"\u{301}b", "a\\\"\u{301}b"), ("\\\u{338}", "\\\\\u{338}"),
      ("\n\u{301}", "\\n\u{301}"),
    ])
  func labels(value: String, written: String) {
    var text = MetricsText()
    text.add("a", labels: [("x", value)], value: 1)
    #expect(text.text.unicodeScalars.elementsEqual("a{x=\"\(written)\"} 1\n".unicodeScalars))
  }

  @Test("a metric is cut off at the most values that it may have")
  func bound() async throws {
    var registry = MetricRegistry()
    registry.register([
      .gauge("many", help: "Many.", labels: ["n"]) {
        (0...MetricRegistry.maximumSamples).map { .init($0, labels: [String($0)]) }
      }
    ])
    let samples = try PrometheusPage(await registry.page()).samples
    #expect(samples.count == MetricRegistry.maximumSamples + 1)
    #expect(samples["many{n=\"0\"}"] == 0)
  }

  @Test("requests that are counted elsewhere are added to those of the same route and status")
  func included() async throws {
    let routes = RouteMetrics()
    routes.count(route: "/a", status: 200, problem: nil, duration: .milliseconds(2))
    routes.count(route: nil, status: 404, problem: "not-found", duration: .zero)
    routes.include { [RouteMetrics.Key(route: "/a", status: 200): 2] }
    var registry = MetricRegistry()
    routes.register(in: &registry)
    let samples = try PrometheusPage(await registry.page()).samples
    let counts = samples.filter {
      $0.key.hasPrefix("pullbox_http_requests") || $0.key.hasPrefix("pullbox_problems")
    }
    #expect(
      counts == [
        "pullbox_http_requests_total{route=\"/a\",code=\"200\"}": 3,
        "pullbox_http_requests_total{route=\"none\",code=\"404\"}": 1,
        "pullbox_problems_total{code=\"not-found\"}": 1,
      ])
    let durations = "pullbox_http_request_duration_seconds"
    #expect(samples["\(durations)_count{route=\"/a\"}"] == 1)
    #expect(samples["\(durations)_sum{route=\"/a\"}"] == 0.002)
    #expect(samples["\(durations)_bucket{route=\"/a\",le=\"0.001048576\"}"] == 0)
    #expect(samples["\(durations)_bucket{route=\"/a\",le=\"0.004194304\"}"] == 1)
  }

  @Test("a source that cannot be read is missing from the page, which counts it, and takes no other with it")
  func unreadable() async throws {
    struct Unreadable: Error {}
    var registry = MetricRegistry()
    registry.register([Metric<Int>.gauge("a", help: "A.") { $0 }]) { throw Unreadable() }
    registry.register([.gauge("b", help: "B.") { 2 }])
    #expect(try PrometheusPage(await registry.page()).samples == ["b": 2, "pullbox_metrics_unreadable": 1])
  }
}
