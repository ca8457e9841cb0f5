import Foundation
import WatchifyHTTP
import WatchifyKit

/// The pages for following a shop.
enum AddPage {
  /// What was entered into the form.
  struct Entry: Sendable {
    var address = ""
    var name = ""
    var country = ""

    init() {}

    init(_ form: [(name: String, value: String)]) {
      for (name, value) in form {
        let value = String(value.trimmingCharacters(in: .whitespacesAndNewlines).prefix(2_048))
        switch name {
        case "address": address = value
        case "name": self.name = String(value.prefix(200))
        case "country": country = String(value.prefix(20))
        default: break
        }
      }
    }

    /// The country as two upper-case letters; `nil` if none was entered.
    var checkedCountry: String? {
      get throws {
        let code = country.uppercased()
        if code.isEmpty { return nil }
        guard code.utf8.count == 2, code.utf8.allSatisfy({ UInt8(ascii: "A")...UInt8(ascii: "Z") ~= $0 }) else {
          throw SiteProblem(
            status: 422, title: "No country", text: "A country is two letters, such as US or GB. Nothing was changed.")
        }
        return code
      }
    }

    /// The link to the form with this entry.
    var link: Link {
      let items = [("address", address), ("name", name), ("country", country)]
      return Link(["shops", "add"], items.filter { !$0.1.isEmpty }.map { (name: $0.0, value: $0.1) })
    }
  }

  /// Returns the first page that somebody without any shop sees: one field, one sentence, and the demo shop.
  static func welcome(_ context: PageContext) -> HTTPResponse {
    Frame.page("Welcome", nil, context) {
      tag(.div, .class("welcome")) {
        tag(.h1) { "Follow a shop" }
        tag(.p, .class("lead")) {
          "Enter the address of any Shopify shop, and see here when a price drops or your size is back."
        }
        addressForm(Entry(), context, isShort: true)
        if context.options.startDemo != nil {
          tag(.p, .class("note")) { "No shop at hand? An invented one on this device shows what happens." }
          context.form(Link(["demo"]), "inline") {
            tag(.button, .set(.type, "submit"), .class("quiet")) { "Try the demo shop" }
          }
        }
      }
    }
  }

  static func page(_ context: PageContext) -> HTTPResponse { page(context, Entry(context.request.query), error: nil) }

  static func page(_ context: PageContext, _ entry: Entry, error: String?) -> HTTPResponse {
    Frame.page("Add a shop", .shops, context, status: error == nil ? 200 : 422) {
      tag(.div, .class("narrow")) {
        tag(.h1) { "Add a shop" }
        tag(.p, .class("lead")) {
          "The first sync stores all of its products. What is already there is no news; what changes from then on is."
        }
        if let error {
          tag(.p, .class("alert"), .id("error"), .set(.role, "alert")) { ShopMarkup.plain(error, limit: 400) }
        }
        addressForm(entry, context, isShort: false, hasError: error != nil)
      }
    }
  }

  private static func addressForm(
    _ entry: Entry, _ context: PageContext, isShort: Bool, hasError: Bool = false
  ) -> HTML {
    context.form(Link(["shops"]), isShort ? "oneline" : "stack") {
      tag(.label, .class("field")) {
        tag(.span, .class("label")) { "Address of the shop" }
        tag(
          .input, .set(.type, "text"), .set(.name, "address"), .set(.value, entry.address), .flag(.required),
          .set(.inputmode, "url"), .set(.autocapitalize, "none"), .set(.autocomplete, "off"),
          .set(.spellcheck, "false"), .set(.placeholder, "allbirds.com"), .flag(.autofocus),
          .set(.ariaInvalid, hasError ? "true" : nil), .set(.ariaDescribedBy, hasError ? "error" : nil))
      }
      if !isShort {
        tag(.label, .class("field")) {
          tag(.span, .class("label")) { "Name" }
          tag(.input, .set(.type, "text"), .set(.name, "name"), .set(.value, entry.name), .set(.maxlength, "200"))
          tag(.small) { "Its own name if empty." }
        }
        countryField(entry.country)
      }
      tag(.button, .set(.type, "submit")) { "Follow" }
    }
  }

  /// Returns the field for the country whose prices are read.
  static func countryField(_ country: String) -> HTML {
    tag(.label, .class("field short")) {
      tag(.span, .class("label")) { "Country" }
      tag(
        .input, .set(.type, "text"), .set(.name, "country"), .set(.value, country), .set(.maxlength, "2"),
        .set(.autocapitalize, "characters"), .set(.autocomplete, "country"), .set(.placeholder, "US"))
      tag(.small) { "Whose prices are followed; the shop's own if empty." }
    }
  }
}
