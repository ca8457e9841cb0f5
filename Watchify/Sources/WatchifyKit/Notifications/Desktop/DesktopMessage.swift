import CofferBus

/// The arguments of `org.freedesktop.Notifications.Notify` for one notification.
///
/// No `category` hint is sent: the registered categories cover mail, calls, devices and the like, not prices.
struct DesktopMessage {
  let content: NotificationContent
  /// The capabilities that the server reports.
  let capabilities: [String]
  /// The id of the notification to replace; 0 for none.
  let replacedId: UInt32
  /// Whether `.timeSensitive` stays on the screen until it is dismissed.
  let isCriticalAllowed: Bool

  var arguments: [BusValue] {
    [
      .string("Watchify"), .uint32(replacedId), .string(""), .string(summary), .string(body), .strings([]),
      .properties(hints), .int32(-1),
    ]
  }

  // A server without "body" shows the summary alone.
  private var summary: String {
    let isAlone = !capabilities.contains("body") && !content.body.isEmpty
    return (isAlone ? "\(content.title): \(content.body)" : content.title).withoutControls(except: [])
  }

  private var body: String {
    guard capabilities.contains("body") else { return "" }
    let text = content.body.withoutControls(except: ["\n"])
    return capabilities.contains("body-markup") ? text.escapedForMarkup : text
  }

  private var hints: [(name: String, value: BusValue)] {
    var hints: [(name: String, value: BusValue)] = [
      ("urgency", .byte(urgency)), ("desktop-entry", .string("watchify")),
    ]
    switch content.priority {
    case .passive: hints.append(("suppress-sound", .bool(true)))
    case .active: break
    case .timeSensitive: hints.append(("sound-name", .string("message-new-instant")))
    }
    return hints
  }

  private var urgency: UInt8 {
    switch content.priority {
    case .passive: 0
    case .active: 1
    case .timeSensitive: isCriticalAllowed ? 2 : 1
    }
  }
}

extension String {
  /// The text escaped for a server that renders markup.
  fileprivate var escapedForMarkup: String {
    var escaped = ""
    // By scalar, because "<" and a following combining mark form one character.
    for scalar in unicodeScalars {
      switch scalar {
      case "&": escaped += "&amp;"
      case "<": escaped += "&lt;"
      case ">": escaped += "&gt;"
      default: escaped.unicodeScalars.append(scalar)
      }
    }
    return escaped
  }

  /// Returns the text with control characters replaced by spaces and bidirectional controls removed: store names are
  /// untrusted.
  fileprivate func withoutControls(except kept: [Unicode.Scalar]) -> String {
    var scalars = UnicodeScalarView()
    for scalar in unicodeScalars where !scalar.properties.isBidiControl {
      let isControl = scalar.properties.generalCategory == .control && !kept.contains(scalar)
      scalars.append(isControl ? " " : scalar)
    }
    return String(scalars)
  }
}
