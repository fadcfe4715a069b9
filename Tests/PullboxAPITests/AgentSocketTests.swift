import PullboxAPI
import PullboxTesting
import Testing

@Suite("Where the agent's socket is")
struct AgentSocketTests {
  @Test("root and system services have one place, other users one below their runtime directory (D15)")
  func rule() {
    let session = ["XDG_RUNTIME_DIR": "/run/user/1000"]
    #expect(AgentSocket.path(user: 0, environment: [:]) == "/run/pullbox/agent.sock")
    #expect(AgentSocket.path(user: 0, environment: session) == "/run/pullbox/agent.sock")
    #expect(AgentSocket.path(user: 1000, environment: session) == "/run/user/1000/pullbox/agent.sock")
    #expect(AgentSocket.path(user: 1000, environment: [:]) == "/run/pullbox/agent.sock")
    #expect(
      AgentSocket.path(user: 1000, environment: ["XDG_RUNTIME_DIR": "run"]) == "/run/pullbox/agent.sock")
    #expect(
      AgentSocket.candidates(user: 1000, environment: session)
        == ["/run/user/1000/pullbox/agent.sock", "/run/pullbox/agent.sock"])
    #expect(AgentSocket.candidates(user: 0, environment: session) == ["/run/pullbox/agent.sock"])
  }

  @Test(
    "the unit's runtime directory is where the rule says, and no variable of clients reaches the daemon (D16)"
  )
  func unit() throws {
    let unit = try RepositoryFile("deploy/pullbox-agent.service").text
    #expect(unit.contains("\nRuntimeDirectory=pullbox\n"))
    #expect(!unit.contains("AGENT_SOCKET") && !unit.contains("AGENT_LISTEN"))
  }
}
