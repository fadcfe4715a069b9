import SandboxStore
import ServiceRuntime

@main
enum EntryPoint {
  static func main() async {
    let arguments = ArgumentParser.parseOrExit(SandboxCommand.description)
    await SandboxCommand.run(arguments).exitProcess()
  }
}
