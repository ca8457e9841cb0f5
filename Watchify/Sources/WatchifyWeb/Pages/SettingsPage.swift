import CofferHTTP
import Foundation
import WatchifyKit

/// The page of the settings: the same table as `watchify settings`.
enum SettingsPage {
  static func page(
    _ context: PageContext, _ container: ModelContainer, rejected: (name: String, value: String)? = nil
  ) async throws -> HTTPResponse {
    var shown: [(setting: WatchifySetting, now: WatchifySetting.Shown)] = []
    for setting in WatchifySetting.all { shown.append((setting, try await setting.read(container.settings))) }
    var groups: [String] = []
    for setting in WatchifySetting.all where !groups.contains(setting.group) { groups.append(setting.group) }
    let done = context.request.queryValue("done")
    return Frame.page("Settings", .settings, context, status: rejected == nil ? 200 : 422) {
      tag(.div, .class("head")) { tag(.h1) { "Settings" } }
      for group in groups {
        tag(.section, .class("settings"), .set(.ariaLabelledBy, "group-\(group)")) {
          tag(.h2, .id("group-\(group)")) { group }
          for item in shown where item.setting.group == group {
            row(
              item.setting, item.now, rejected: rejected?.name == item.setting.name ? rejected?.value : nil,
              isSaved: done == item.setting.name, context)
          }
        }
      }
    }
  }

  private static func row(
    _ setting: WatchifySetting, _ now: WatchifySetting.Shown, rejected: String?, isSaved: Bool, _ context: PageContext
  ) -> HTML {
    tag(.div, .class("setting"), .id(setting.name)) {
      tag(.div, .class("about")) {
        tag(.label, .set(.for, "value-\(setting.name)")) { setting.about }
        tag(.small) {
          tag(.code) { setting.name }
          if !now.isDefault { " · the default is \(setting.usual)" }
        }
        if let rejected {
          tag(.p, .class("alert"), .set(.role, "alert"), .id("error-\(setting.name)")) {
            "“\(ShopMarkup.plain(rejected, limit: 60))” was not saved: it takes \(setting.allowed)."
          }
        }
        if isSaved { tag(.p, .class("done"), .set(.role, "status")) { "Saved." } }
      }
      tag(.div, .class("actions")) {
        context.form(Link(["settings"]), "inline") {
          hiddenField("key", setting.name)
          control(setting, rejected ?? now.text, isRejected: rejected != nil)
          tag(.button, .set(.type, "submit"), .class("quiet")) {
            "Save"
            NewsText.hidden(" \(setting.name)")
          }
        }
        if !now.isDefault {
          context.button("Reset", Link(["settings"]), [("key", setting.name), ("reset", "1")])
        }
      }
    }
  }

  private static func control(_ setting: WatchifySetting, _ value: String, isRejected: Bool) -> HTML {
    let id = Attribute.id("value-\(setting.name)")
    let error = Attribute.set(.ariaDescribedBy, isRejected ? "error-\(setting.name)" : nil)
    switch setting.form {
    case .flag: return select(["true", "false"], value, id, error) { $0 == "true" ? "yes" : "no" }
    case .choice(let choices): return select(choices, value, id, error) { $0 }
    case .number(let range, let unit):
      return pieces {
        tag(
          .input, id, error, .set(.name, "value"), .set(.value, value), .set(.inputmode, "numeric"),
          .set(.class, "number"), .set(.autocomplete, "off"), .set(.maxlength, "12"),
          .set(.ariaLabel, "\(setting.about) \(range.lowerBound) to \(range.upperBound)"))
        tag(.span, .class("unit")) { unit }
      }
    case .text:
      return tag(
        .input, id, error, .set(.name, "value"), .set(.value, value), .set(.autocomplete, "off"),
        .set(.spellcheck, "false"), .set(.autocapitalize, "none"), .set(.maxlength, "400"))
    }
  }

  private static func select(
    _ choices: [String], _ value: String, _ id: Attribute, _ error: Attribute, _ label: (String) -> String
  ) -> HTML {
    tag(.select, id, error, .set(.name, "value")) {
      for choice in choices {
        tag(.option, .set(.value, choice), .flag(.selected, if: choice == value)) { label(choice) }
      }
    }
  }
}
