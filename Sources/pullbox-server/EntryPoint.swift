@main
enum EntryPoint {
  static func main() {}
}
