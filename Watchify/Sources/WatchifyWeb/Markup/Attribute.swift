/// An attribute of an element. There is none that contains code or style: pages work under a content security policy
/// without inline code.
struct Attribute: Sendable {
  /// The names of attributes.
  enum Name: String, Sendable {
    case action, autocapitalize, autocomplete, autofocus, charset, checked, `class`, colspan, content, crossorigin, cx
    case cy, d, datetime, fill, decoding, `defer`, dir, disabled, `for`, form, height, href, id, inputmode, lang, list,
      loading, max
    case maxlength, method, min, name, open, pattern, patternUnits, placeholder, r, rel, required, role, scope, selected
    case spellcheck, src, step, tabindex, target, type, value, viewBox, width, x, x1, x2, xmlns, y, y1, y2, alt, media
    case acceptCharset = "accept-charset"
    case ariaCurrent = "aria-current"
    case ariaDescribedBy = "aria-describedby"
    case ariaHidden = "aria-hidden"
    case ariaInvalid = "aria-invalid"
    case ariaLabel = "aria-label"
    case ariaLabelledBy = "aria-labelledby"
    case ariaLive = "aria-live"
    case dataAuto = "data-auto"
    case dataLive = "data-live"
    case dataText = "data-text"
    case dataX = "data-x"
    case dataY = "data-y"
    case httpEquiv = "http-equiv"
    case referrerPolicy = "referrerpolicy"
    case textAnchor = "text-anchor"
  }

  let name: Name
  /// The value; the attribute is omitted if it is `nil`.
  let value: String?

  private init(_ name: Name, _ value: String?) {
    self.name = name
    self.value = value
  }

  /// Returns an attribute with a text. Addresses cannot be given this way.
  static func set(_ name: Name, _ value: String?) -> Attribute {
    switch name {
    case .href, .src, .action: Attribute(name, nil)
    default: Attribute(name, value)
    }
  }

  /// Returns an attribute without a value if a condition holds.
  static func flag(_ name: Name, if condition: Bool = true) -> Attribute {
    set(name, condition ? name.rawValue : nil)
  }

  /// Returns a geometric attribute, rounded to hundredths.
  static func number(_ name: Name, _ value: Double, _ unit: StaticString = "") -> Attribute {
    set(name, Self.text(value) + "\(unit)")
  }

  static func `class`(_ names: String?) -> Attribute { Attribute(.class, names) }
  static func id(_ id: String) -> Attribute { Attribute(.id, id) }
  static func href(_ link: Link?) -> Attribute { Attribute(.href, link?.text) }
  static func src(_ link: Link?) -> Attribute { Attribute(.src, link?.text) }
  static func action(_ link: Link?) -> Attribute { Attribute(.action, link?.text) }

  /// Returns a number with at most two decimals, independent of the locale.
  static func text(_ value: Double) -> String {
    guard value.isFinite else { return "0" }
    let hundredths = Int((min(max(value, -1e9), 1e9) * 100).rounded())
    let (units, rest) = (abs(hundredths) / 100, abs(hundredths) % 100)
    let sign = hundredths < 0 ? "-" : ""
    guard rest > 0 else { return "\(sign)\(units)" }
    let digits = rest < 10 ? "0\(rest)" : rest % 10 == 0 ? "\(rest / 10)" : "\(rest)"
    return "\(sign)\(units).\(digits)"
  }
}
