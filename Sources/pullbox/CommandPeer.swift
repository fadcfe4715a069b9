enum CommandPeer: Sendable {
  case server
  case agent
  case offline
}
