import CoreTypes
import HTTPServer
import PullboxAPI
import PullboxAPIServer
import PullboxTesting
import ServiceAPI
import Testing

@testable import RouteAccess

@Suite("Requests in an operator's name within the process")
struct ActingOperatorTests {
  private let keys = OperatorKeys(
    [
      .init(holder: Operator(name: "ada", scopes: [.admin]), secret: SecretDigest(of: "the key of ada")),
      .init(holder: Operator(name: "ben", scopes: [.read]), secret: SecretDigest(of: "the key of ben")),
    ], wrongKeys: WrongKeys(timer: ManualMonotonicClock()))

  private func request(_ key: String? = nil) throws -> HTTPRequest {
    try HTTPRequest(
      method: .get, rawTarget: "/v1/operator/audit",
      headers: key.map { ["Authorization": "Bearer \($0)"] } ?? [:])
  }

  /// The holder that a request is authorized as, in the name of a key; nil for a refusal.
  private func holder(
    _ request: HTTPRequest, actingWith key: String?, for scope: OperatorScope
  ) async -> String? {
    func authorize() -> String? {
      do throws(Problem) {
        return try keys.authorize(request, for: scope).name
      } catch {
        return nil
      }
    }
    guard let key else { return authorize() }
    return await OperatorKeys.actingWith(SecretDigest(of: key)) { authorize() }
  }

  @Test("the holder of the key that is acted with is authorized, for its scopes, and only meanwhile")
  func acting() async throws {
    let request = try request()
    #expect(await holder(request, actingWith: "the key of ben", for: .read) == "ben")
    #expect(await holder(request, actingWith: "the key of ben", for: .admin) == nil)
    #expect(await holder(request, actingWith: nil, for: .read) == nil)
  }

  @Test("a key that has ended acts no more, whatever the request carries, and a digest is no key")
  func ended() async throws {
    let request = try request("the key of ada")
    keys.replace(
      [.init(holder: Operator(name: "ada", scopes: [.admin]), secret: SecretDigest(of: "the key of ada"))],
      needsSecondKey: false)
    #expect(await holder(request, actingWith: "the key of ben", for: .read) == nil)
    #expect(keys.holder(ofKeyWith: SecretDigest(of: "the key of ben")) == nil)
    let digest = try self.request("\(SecretDigest(of: "the key of ada").digest)")
    #expect(await holder(digest, actingWith: nil, for: .read) == nil)
    #expect(await holder(request, actingWith: nil, for: .read) == "ada")
  }

  @Test("ten thousand wrong keys are refused and counted, and the right one is known after them")
  func wrongKeys() throws {
    let request = try request()
    var codes: [ProblemCode?: Int] = [:]
    for number in 0..<10_000 {
      do throws(Problem) {
        _ = try keys.key("wrong \(number)", from: request)
      } catch {
        codes[error.code, default: 0] += 1
      }
    }
    #expect(codes == [.unauthorized: Int(WrongKeys.burst), .tooManyRequests: 10_000 - Int(WrongKeys.burst)])
    #expect(keys.wrongKeys.addresses == 1)
    let right = try keys.key("the key of ada", from: request)
    #expect(right.holder.name == "ada")
  }
}
