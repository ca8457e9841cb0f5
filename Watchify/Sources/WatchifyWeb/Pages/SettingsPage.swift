import CofferRouter
import Foundation
import WatchifyHTTP
import WatchifyKit

/// The page of the settings: the same table as `watchify settings`, with one form for each group.
enum SettingsPage {
  /// A setting with the value that a form has for it, as text, and the value that it had when the form was shown.
  typealias Entry = (setting: WatchifySetting, text: String, was: String?)

  /// Returns the page.
  /// - Parameter entered: the entries of a form that was not saved, because one of them is no allowed value.
  static func page(
    _ context: PageContext, _ container: ModelContainer, entered: [Entry] = []
  ) async throws -> HTTPResponse {
    var shown: [(setting: WatchifySetting, now: WatchifySetting.Shown)] = []
    for setting in WatchifySetting.all { shown.append((setting, try await setting.read(container.settings))) }
    var groups: [String] = []
    for setting in WatchifySetting.all where !groups.contains(setting.group) { groups.append(setting.group) }
    let rejected = entered.first(where: isRejected)?.setting.name
    let done = context.request.queryValue("done")
    return Frame.page("Settings", .settings, context, status: entered.isEmpty ? 200 : 422) {
      tag(.div, .class("head")) { tag(.h1) { "Settings" } }
      // The buttons that reset a setting belong to this form, because forms cannot be nested.
      context.form(Link(["settings"]), id: "reset") { HTML() }
      for group in groups {
        tag(.section, .class("settings"), .set(.ariaLabelledBy, anchor(group))) {
          tag(.h2, .id(anchor(group))) { group }
          if done == group { tag(.p, .class("done"), .set(.role, "status")) { "Saved." } }
          context.form(Link(["settings"])) {
            for item in shown where item.setting.group == group {
              row(
                item.setting, item.now, entered: entered.first { $0.setting.name == item.setting.name },
                hasFocus: item.setting.name == rejected)
            }
            tag(.p, .class("save")) {
              tag(.button, .set(.type, "submit")) {
                "Save"
                NewsText.hidden(" \(group)")
              }
            }
          }
        }
      }
    }
  }

  static func anchor(_ group: String) -> String { "group-\(group)" }

  /// Whether an entry is no allowed value of its setting.
  static func isRejected(_ entry: Entry) -> Bool { isTooLong(entry.text) || !entry.setting.accepts(entry.text) }
  private static func isTooLong(_ text: String) -> Bool { text.utf8.count > 4_096 }

  /// Returns a value as a form sends it: numbers without commas between thousands, lists in the order of their boxes.
  private static func sent(_ value: String, of setting: WatchifySetting) -> String {
    switch setting.form {
    case .number: return value.replacing(",", with: "")
    case .list(let choices):
      let chosen = value.split(separator: ",").map(String.init)
      return chosen == ["none"] ? value : choices.filter(chosen.contains).joined(separator: ",")
    case .flag, .choice, .hours, .text: return value.trimmingCharacters(in: .whitespaces)
    }
  }

  /// Whether a form may change a setting. Others count from the next start on, which fails after a mistake, without a
  /// page to correct it.
  static func isEditable(_ setting: WatchifySetting) -> Bool {
    ![StorageKeys.publicAddress.name, StorageKeys.accessTokenFile.name].contains(setting.name)
  }

  /// Returns the settings that a form contains.
  static func entries(_ form: [(name: String, value: String)]) -> [Entry] {
    WatchifySetting.all.filter(isEditable).compactMap { setting in
      let values = form.filter { $0.name == setting.name }.map { $0.value.trimmingCharacters(in: .whitespaces) }
      guard let last = values.last else { return nil }
      let was = form.last { $0.name == "was-\(setting.name)" }?.value
      switch setting.form {
      case .hours:
        return (setting, values.allSatisfy(\.isEmpty) ? "off" : values.joined(separator: "-"), was)
      case .list:
        let chosen = values.filter { $0 != "none" }
        return (setting, chosen.isEmpty ? "none" : chosen.joined(separator: ","), was)
      case .text: return (setting, last.isEmpty ? setting.usual : last, was)
      // A box that is not checked sends nothing, so a hidden field before it has the value for that.
      case .flag, .number, .choice: return (setting, last, was)
      }
    }
  }

  private static func row(
    _ setting: WatchifySetting, _ now: WatchifySetting.Shown, entered: Entry?, hasFocus: Bool
  ) -> HTML {
    let isEditable = isEditable(setting)
    let isRejected = entered.map(isRejected) ?? false
    return tag(.div, .class("setting"), .id(setting.name)) {
      tag(.div, .class("about")) {
        switch setting.form {
        case _ where !isEditable: tag(.span) { setting.about }
        case .hours, .list: tag(.span, .id("label-\(setting.name)")) { setting.about }
        default: tag(.label, .set(.for, "value-\(setting.name)")) { setting.about }
        }
        tag(.small) {
          tag(.code) { setting.name }
          if case .choice = setting.form { " · \(setting.allowed)" }
          if !isEditable { " · set by “watchify settings”, used from the next start" }
          if isEditable, !now.isDefault { " · the default is \(setting.usual)" }
        }
        if isRejected {
          tag(.p, .class("alert"), .set(.role, "alert"), .id("error-\(setting.name)")) {
            "“\(ShopMarkup.plain(entered?.text ?? "", limit: 60))” is no value for this. Nothing was saved: it takes "
            "\(setting.allowed)\(isTooLong(entered?.text ?? "") ? ", of at most 4,096 bytes" : "")."
          }
        }
      }
      tag(.div, .class("actions")) {
        if isEditable {
          hiddenField("was-\(setting.name)", entered?.was ?? sent(now.text, of: setting))
          control(setting, entered?.text ?? now.text, isRejected ? "error-\(setting.name)" : nil, hasFocus)
        } else {
          tag(.code) { now.text }
        }
        if isEditable, !now.isDefault {
          tag(
            .button, .set(.type, "submit"), .class("quiet small"), .set(.form, "reset"), .set(.name, "reset"),
            .set(.value, setting.name)
          ) {
            "Reset"
            NewsText.hidden(" \(setting.name)")
          }
        }
      }
    }
  }

  private static func control(
    _ setting: WatchifySetting, _ value: String, _ error: String?, _ hasFocus: Bool
  ) -> HTML {
    let (id, name) = (Attribute.id("value-\(setting.name)"), Attribute.set(.name, setting.name))
    let described = Attribute.set(.ariaDescribedBy, error)
    let (invalid, focus) = (
      Attribute.set(.ariaInvalid, error.map { _ in "true" }), Attribute.flag(.autofocus, if: hasFocus)
    )
    switch setting.form {
    case .flag:
      return pieces {
        hiddenField(setting.name, "false")
        tag(
          .input, id, described, invalid, focus, .set(.type, "checkbox"), name, .set(.value, "true"),
          .flag(.checked, if: value == "true"))
      }
    case .choice(let choices):
      return tag(.select, id, described, invalid, focus, name) {
        for choice in choices {
          tag(.option, .set(.value, choice), .flag(.selected, if: choice == value)) { choice }
        }
      }
    case .number(let range, let unit):
      return pieces {
        tag(
          .input, id, described, invalid, focus, name, .set(.type, "number"), .set(.value, sent(value, of: setting)),
          .set(.class, "number"),
          .set(.min, String(range.lowerBound)), .set(.max, String(range.upperBound)), .flag(.required),
          .set(.autocomplete, "off"))
        tag(.span, .class("unit")) { unit }
      }
    case .list(let choices):
      let chosen = value.split(separator: ",").map(String.init)
      return group(setting, described) {
        hiddenField(setting.name, "none")
        for choice in choices {
          tag(.label, .class("check")) {
            tag(
              .input, invalid, .flag(.autofocus, if: hasFocus && choice == choices.first), .set(.type, "checkbox"),
              name, .set(.value, choice), .flag(.checked, if: chosen.contains(choice)))
            tag(.span) { choice }
          }
        }
      }
    case .hours:
      let times = value == "off" ? [] : value.components(separatedBy: "-")
      return group(setting, described) {
        for (index, word) in ["from", "to"].enumerated() {
          tag(.label, .class("check")) {
            tag(.span) { word }
            tag(
              .input, invalid, .flag(.autofocus, if: hasFocus && index == 0), .set(.type, "time"), name,
              .set(.value, times.dropFirst(index).first))
          }
        }
      }
    case .text:
      return tag(
        .input, id, described, invalid, focus, name, .set(.value, value == setting.usual ? "" : value),
        .set(.placeholder, setting.usual), .set(.autocomplete, "off"), .set(.spellcheck, "false"),
        .set(.autocapitalize, "none"), .set(.maxlength, "400"))
    }
  }

  private static func group(
    _ setting: WatchifySetting, _ described: Attribute, @HTMLBuilder _ content: () -> HTML
  ) -> HTML {
    tag(.div, described, .class("actions"), .set(.role, "group"), .set(.ariaLabelledBy, "label-\(setting.name)")) {
      content()
    }
  }
}
