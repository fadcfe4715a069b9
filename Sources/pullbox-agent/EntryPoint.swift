import DownloadAgent

/// Arguments and wiring, nothing else.
@main
enum EntryPoint {
  static func main() {
    AgentCommand.main()
  }
}
