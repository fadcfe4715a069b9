import CatalogDocuments
import Crypto

/// Writes the page on which a reader lets an application in, as HTML without a script. Pure.
package struct AuthorizationPageWriter: Sendable {
  /// Put before addresses at this server.
  package let base: String
  /// The name of the catalog.
  package let name: String

  package init(base: String, name: String) {
    self.base = base
    self.name = name
  }

  /// Nothing runs, and nothing comes from elsewhere. A form leads to this server, and from there to `source`, since browsers hold what it
  /// is redirected to against the policy as well.
  static func contentSecurityPolicy(leadingTo source: String?) -> String {
    let targets = (["'self'"] + (source.map { [$0] } ?? [])).joined(separator: " ")
    return
      "default-src 'none'; style-src 'sha256-\(styleDigest)'; base-uri 'none'; form-action \(targets); frame-ancestors 'none'"
  }

  private static let styleDigest = Base64.encode(SHA256Digest.of(style.description.utf8).array)

  private static let style: StaticString = """
    :root{color-scheme:light dark}body{font-family:sans-serif;line-height:1.5;max-width:30rem;margin:0 auto;padding:1rem}\
    label{display:block;margin-top:1rem}input{display:block;width:100%;box-sizing:border-box;font:inherit;padding:.4rem}\
    button{font:inherit;min-height:2.5rem;margin:1rem .5rem 0 0;padding:0 1rem}code{overflow-wrap:anywhere}
    """

  /// Returns the page with the form; `fault` is a sentence about what was sent before.
  func document(_ request: AuthorizationRequest, typed: String = "", fault: String? = nil) -> [UInt8] {
    page(titled: "Sign in to \(name)") { html in
      if let fault { html.tag("p", ["role": "alert", "id": "fault"]) { $0.text(fault) } }
      html.tag("p") { html in
        html.text("The application that calls itself ")
        html.tag("code") { $0.text(request.client) }
        html.text(" asks to see and to read what you own. You are led back to it at ")
        html.tag("code") { $0.text(request.redirect.text) }
        html.text(".")
      }
      html.tag("form", ["method": "post", "action": "\(base)/opds/oauth/authorize"]) { html in
        for field in request.fields {
          html.void("input", ["type": "hidden", "name": field.name, "value": field.value])
        }
        let described = fault == nil ? nil : "fault"
        html.tag("label", ["for": "name"]) { $0.text("Name of the reader's key") }
        html.void(
          "input",
          [
            "id": "name", "name": "name", "type": "text", "autocomplete": "username",
            "autocapitalize": "none", "spellcheck": "false", "required": "", "maxlength": "64",
            "value": typed, "aria-describedby": described,
          ])
        html.tag("label", ["for": "password"]) { $0.text("Its four words") }
        html.void(
          "input",
          [
            "id": "password", "name": "password", "type": "password", "autocomplete": "current-password",
            "autocapitalize": "none", "required": "", "maxlength": "256", "aria-describedby": described,
          ])
        html.tag("button", ["type": "submit"]) { $0.text("Sign in") }
        html.tag("button", ["type": "submit", "name": "deny", "value": "1", "formnovalidate": ""]) {
          $0.text("Do not sign in")
        }
      }
      html.tag("p") { html in
        html.text("A key is made on a device that has Pullbox: ")
        html.tag("code") { $0.text("pullbox readers add TABLET") }
      }
    }
  }

  /// Returns a page that says why there is no form.
  func refusal(_ sentence: String) -> [UInt8] {
    page(titled: "This application cannot sign in") { html in html.tag("p") { $0.text(sentence) } }
  }

  private func page(titled title: String, _ content: (inout XMLWriter) -> Void) -> [UInt8] {
    var html = XMLWriter(hasDeclaration: false)
    html.markup("<!DOCTYPE html>\n")
    html.tag("html", ["lang": "en"]) { html in
      html.tag("head") { html in
        html.void("meta", ["charset": "utf-8"])
        html.void("meta", ["name": "viewport", "content": "width=device-width, initial-scale=1"])
        html.tag("title") { $0.text(title) }
        html.tag("style") { $0.markup(Self.style) }
      }
      html.tag("body") { html in
        html.tag("main") { html in
          html.tag("h1", ["dir": "auto"]) { $0.text(title) }
          content(&html)
        }
      }
    }
    return html.bytes
  }
}
