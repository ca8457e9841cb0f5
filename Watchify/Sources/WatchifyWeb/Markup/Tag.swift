/// The elements that pages consist of.
enum Tag: String, Sendable {
  // HTML
  case html, head, body, title, meta, link, script
  case header, nav, main, footer, section, article, aside
  case h1, h2, h3, p, div, span, a, ul, ol, li, dl, dt, dd, em, strong, small, del, bdi, time, br, code
  case form, label, input, button, select, option, optgroup, fieldset, legend
  case table, caption, thead, tbody, tr, th, td
  case details, summary, figure, figcaption, img, output, progress
  // SVG
  case svg, g, line, rect, circle, text, defs, pattern, path, desc

  /// Whether HTML defines the element without content.
  var isVoid: Bool {
    switch self {
    case .meta, .link, .br, .input, .img: true
    default: false
    }
  }
}
