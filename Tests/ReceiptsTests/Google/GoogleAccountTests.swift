import CoreTypes
import Crypto
import Foundation
import Testing

@testable import Receipts

@Suite("The service account at Google, and its access tokens")
struct GoogleAccountTests {
  private struct Claims: Decodable {
    var iss: String
    var scope: String
    var aud: String
    var iat: Int64
    var exp: Int64
  }

  @Test(
    "an assertion names account, scope and token endpoint, counts an hour, and is signed with the file's key")
  func assertion() throws {
    let account = try GoogleServiceAccount(keyFile: GoogleDocuments.keyFile())
    let assertion = try account.assertion(at: GoogleDocuments.now)
    let segments = assertion.split(separator: ".")
    #expect(segments.count == 3)
    let signature = try #require(Base64.decode(segments[2], .url))
    let input = Array("\(segments[0]).\(segments[1])".utf8)
    #expect(GoogleDocuments.key.publicKey.isValid(signature: signature, for: input))
    let header = try JSONDecoder().decode(
      [String: String].self, from: Data(try #require(Base64.decode(segments[0], .url))))
    #expect(header == ["alg": "RS256", "kid": "k1", "typ": "JWT"])
    let claims = try JSONDecoder().decode(
      Claims.self, from: Data(try #require(Base64.decode(segments[1], .url))))
    #expect(claims.iss == "server@p.iam.gserviceaccount.com")
    #expect(claims.scope == "https://www.googleapis.com/auth/androidpublisher")
    #expect(claims.aud == "https://oauth2.googleapis.com/token")
    #expect(claims.iat == 1_800_000_000 && claims.exp == claims.iat + 3600)
    let form = try account.tokenRequest(at: GoogleDocuments.now)
    #expect(form.hasPrefix("grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=ey"))
    #expect(!"\(account)".contains("PRIVATE"))
  }

  @Test(
    "a file of another type, with another key, without a member or too long is refused, and no error shows a key"
  )
  func refusedFiles() throws {
    let files = try [
      GoogleDocuments.keyFile(type: "authorized_user"), GoogleDocuments.keyFile(key: ES256Key().pem),
      GoogleDocuments.keyFile(key: ""), Array("{}".utf8), [],
      Array("[".utf8) + [UInt8](repeating: 0x20, count: 70_000),
      GoogleDocuments.keyFile() + [UInt8](repeating: 0x20, count: 70_000),
    ]
    for file in files {
      let error = #expect(throws: ReceiptError.self) { try GoogleServiceAccount(keyFile: file) }
      #expect(error?.code == .malformed)
      #expect(error.map { "\($0)".contains("PRIVATE") } == false)
    }
  }

  @Test("an access token counts until a minute before the endpoint's end of it; a short one half its time")
  func accessToken() throws {
    func token(_ seconds: Int) throws -> GoogleAccessToken {
      try GoogleAccessToken(
        response: Array(#"{"access_token":"ya29.x","expires_in":\#(seconds),"token_type":"Bearer"}"#.utf8),
        askedAt: GoogleDocuments.now)
    }
    #expect(try token(3599).end == GoogleDocuments.now + .seconds(3539))
    #expect(try token(10).end == GoogleDocuments.now + .seconds(5))
    #expect(try token(3599).value == "ya29.x")
    #expect(try !"\(token(3599))".contains("ya29"))
  }

  @Test(
    "what is no bearer token in visible ASCII is refused",
    arguments: [
      #"{"access_token":"a","expires_in":0,"token_type":"Bearer"}"#,
      #"{"access_token":"a","expires_in":999999,"token_type":"Bearer"}"#,
      #"{"access_token":"a","expires_in":3599,"token_type":"mac"}"#,
      #"{"access_token":"","expires_in":3599,"token_type":"Bearer"}"#,
      #"{"access_token":"a\r\nX: y","expires_in":3599,"token_type":"Bearer"}"#,
      #"{"expires_in":3599,"token_type":"Bearer"}"#, "", "null",
    ])
  func refusedTokens(_ text: String) {
    #expect(throws: ReceiptError.self) {
      try GoogleAccessToken(response: Array(text.utf8), askedAt: GoogleDocuments.now)
    }
  }
}
