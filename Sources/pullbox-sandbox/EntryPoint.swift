import SandboxStore

@main
enum EntryPoint {
  static func main() {
    SandboxCommand.main()
  }
}
