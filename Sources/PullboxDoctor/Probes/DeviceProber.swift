import CoreTypes
import Files
import PullboxAPI
import PullboxKit
import SystemCalls

/// Looks at this device's agent: its socket, its own status, the folder of its library.
public struct DeviceProber: Sendable {
  private let socketPath: String

  /// `socketPath` is the agent's socket.
  public init(socketPath: String) {
    self.socketPath = socketPath
  }

  /// Asks the agent once. It never throws: a failure is an answer as well. The folder of the library is
  /// looked at where the agent answers only.
  public func observe() async -> DeviceObservations {
    let socketPath = socketPath
    let obstacle = await BlockingPool.shared.run { Self.obstacle(at: socketPath) }
    if let obstacle { return DeviceObservations(socketPath: socketPath, answer: obstacle) }
    do {
      let agent = try AgentClient(socketPath: socketPath)
      let status = try await agent.status()
      let library = status.libraryPath
      let mayRead = await BlockingPool.shared.run { try? FileSystem.mayUse(library) }
      return DeviceObservations(
        socketPath: socketPath, answer: .status(status), mayReadLibrary: mayRead,
        conditions: try? await agent.conditions())
    } catch {
      return DeviceObservations(socketPath: socketPath, answer: .silent("\(error)"))
    }
  }

  /// Why the agent cannot be asked; nil if it can. Blocks.
  private static func obstacle(at path: String) -> DeviceObservations.Answer? {
    do throws(SystemError) {
      guard let status = try FileSystem.status(of: path) else { return .noSocket }
      guard try FileSystem.mayUse(path, isWriting: true) else {
        return .denied(permissions: status.permissions, group: status.owner.group)
      }
      return nil
    } catch {
      return .silent(error.description)
    }
  }
}
