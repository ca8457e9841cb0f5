import CofferTerminal
import Foundation
import WatchifyHTTP
import WatchifyKit

/// The pages for changing and removing a shop.
enum EditPage {
  static func page(
    _ store: StoreDTO, _ context: PageContext, _ service: StoreService, _ entry: AddPage.Entry? = nil,
    error: String? = nil
  ) async throws -> HTTPResponse {
    let headers = try await service.headers(storeId: store.id)
    return Frame.page("Edit \(store.name)", .shops, context, status: error == nil ? 200 : 422) {
      tag(.div, .class("narrow")) {
        tag(.p, .class("eyebrow")) { tag(.a, .href(store.link)) { ShopMarkup.text(store.name, limit: 80) } }
        tag(.h1) { "Edit" }
        if let error { tag(.p, .class("alert"), .set(.role, "alert")) { error } }
        context.form(Link(store.path + ["edit"]), "stack") {
          tag(.label, .class("field")) {
            tag(.span, .class("label")) { "Name" }
            tag(
              .input, .set(.type, "text"), .set(.name, "name"), .set(.value, entry?.name ?? store.name),
              .flag(.required),
              .set(.maxlength, "200"))
          }
          AddPage.countryField(entry?.country ?? store.country ?? "")
          tag(.p, .class("note")) {
            "Another country is another market: its next sync becomes the new baseline, with one notice."
          }
          tag(.button, .set(.type, "submit")) { "Save" }
        }
        if !headers.isEmpty {
          tag(.h2) { "Headers" }
          tag(.p, .class("note")) {
            let names = headers.map { ShopMarkup.plain($0.name, limit: 60) }.joined(separator: ", ")
            "Sent only to \(store.domain): \(names). "
            "Their values are never shown; 'watchify edit' changes them."
          }
        }
        tag(.h2) { "Remove" }
        tag(.p, .class("note")) { "Ends following the shop, and deletes what was read of it." }
        tag(.p) { tag(.a, .class("button quiet"), .href(Link(store.path + ["remove"]))) { "Remove this shop…" } }
      }
    }
  }

  /// Returns the page that asks for a confirmation, and states what would be deleted.
  static func removal(
    of store: StoreDTO, _ context: PageContext, _ service: StoreService, isMistyped: Bool = false
  ) async throws -> HTTPResponse {
    let extent = try await service.extent(storeId: store.id)
    let news = counted(extent.events, "reported change")
    return Frame.page("Remove \(store.name)", .shops, context, status: isMistyped ? 422 : 200) {
      tag(.div, .class("narrow")) {
        tag(.p, .class("eyebrow")) { tag(.a, .href(store.link)) { ShopMarkup.text(store.name, limit: 80) } }
        tag(.h1) { "Remove this shop?" }
        tag(.p, .class("lead")) {
          "This deletes \(counted(extent.products, "product")) with \(counted(extent.snapshots, "price point")) since "
          "\(context.moments.shortDay(store.addedAt)), and \(news). It cannot be undone."
        }
        if isMistyped {
          tag(.p, .class("alert"), .set(.role, "alert")) {
            "That is neither its address nor its name. Nothing was removed."
          }
        }
        context.form(Link(store.path + ["remove"]), "stack") {
          tag(.label, .class("field")) {
            tag(.span, .class("label")) {
              "To confirm, enter its address, \(store.domain), or its name: "
              ShopMarkup.text(store.name, limit: 80)
            }
            tag(
              .input, .set(.type, "text"), .set(.name, "name"), .flag(.required), .set(.autocomplete, "off"),
              .set(.spellcheck, "false"))
          }
          tag(.div, .class("actions")) {
            tag(.button, .set(.type, "submit"), .class("danger")) { "Delete all of it" }
            tag(.a, .class("button quiet"), .href(store.link)) { "Keep it" }
          }
        }
      }
    }
  }
}
