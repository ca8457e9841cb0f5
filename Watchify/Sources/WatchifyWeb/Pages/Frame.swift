import CofferTerminal
import Foundation
import WatchifyHTTP
import WatchifyKit

/// The parts of the site that its menu names.
enum Section: String, CaseIterable {
  case activity, products, shops, wishes, settings, health

  var title: String { rawValue.prefix(1).uppercased() + rawValue.dropFirst() }
  var link: Link { Link([rawValue]) }
  /// Whether the menu shows it; the line about the state of the process leads to the others.
  var isInMenu: Bool { self != .health }
}

/// The frame that all pages share.
enum Frame {
  /// Returns a page.
  /// - Parameters:
  ///   - title: the title, shown by the browser beside the number of unread news.
  ///   - section: the part of the site to which the page belongs.
  ///   - refresh: the time after which the browser loads the page again, in seconds.
  ///   - isLive: whether the page is brought up to date when there is news.
  static func page(
    _ title: String, _ section: Section?, _ context: PageContext, status: Int = 200, refresh: Int? = nil,
    isLive: Bool = false, @HTMLBuilder _ content: () throws -> HTML
  ) rethrows -> HTTPResponse {
    let unread = context.unread > 0 ? "(\(grouped(context.unread))) " : ""
    let root = try tag(.html, .set(.lang, "en")) {
      tag(.head) {
        tag(.meta, .set(.charset, "utf-8"))
        tag(.meta, .set(.name, "viewport"), .set(.content, "width=device-width, initial-scale=1"))
        tag(.meta, .set(.name, "color-scheme"), .set(.content, "light dark"))
        if let refresh { tag(.meta, .set(.httpEquiv, "refresh"), .set(.content, String(refresh))) }
        tag(.title) { "\(unread)\(ShopMarkup.plain(title)) · Watchify" }
        tag(.link, .set(.rel, "stylesheet"), .href(Assets.style.link))
        tag(.link, .set(.rel, "icon"), .set(.type, "image/svg+xml"), .href(Assets.icon.link))
        tag(.script, .set(.type, "module"), .src(Assets.script.link))
      }
      try tag(.body) {
        tag(.a, .class("skip"), .href(.anchor("main"))) { "Skip to the content" }
        header(section, context)
        try tag(.main, .id("main"), .set(.tabindex, "-1"), .set(.dataLive, isLive ? "page" : nil)) { try content() }
        footer(context)
      }
    }
    return HTTPResponse(status, "text/html; charset=utf-8", HTML.document(root))
  }

  private static func header(_ section: Section?, _ context: PageContext) -> HTML {
    tag(.header, .class("top")) {
      tag(.a, .class("brand"), .href(Link([]))) { "Watchify" }
      tag(.nav, .set(.ariaLabel, "Main")) {
        tag(.ul) {
          for item in Section.allCases where item.isInMenu {
            tag(.li) {
              tag(.a, .href(item.link), .set(.ariaCurrent, item == section ? "page" : nil)) {
                item.title
                if item == .activity, context.unread > 0 {
                  " "
                  tag(.span, .class("badge"), .id("unread")) {
                    grouped(context.unread)
                    NewsText.hidden(" unread")
                  }
                }
              }
            }
          }
        }
      }
      tag(.p, .class("state"), .id("state")) { StateLine.link(context, isCurrent: section == .health) }
    }
  }

  private static func footer(_ context: PageContext) -> HTML {
    tag(.footer, .class("bottom")) {
      tag(.p) {
        "Watchify reads the public product lists of shops. What it has read stays on this device. "
        tag(.a, .href(Section.health.link)) { "Health" }
      }
      if SiteAccess.hasSession(context.request) { context.button("Log out", Link(["logout"])) }
    }
  }

  /// Returns the links to the pages before and after one of a list; nothing if there is only one.
  static func pager(_ page: Int, hasMore: Bool, label: String, _ link: (Int) -> Link) -> HTML {
    guard page > 1 || hasMore else { return HTML() }
    return tag(.nav, .class("pager"), .set(.ariaLabel, label)) {
      if page > 1 { tag(.a, .href(link(page - 1)), .set(.rel, "prev")) { "← Back" } }
      tag(.span) { "Page \(grouped(page))" }
      if hasMore { tag(.a, .href(link(page + 1)), .set(.rel, "next")) { "More →" } }
    }
  }

  /// Returns a text for a list that has nothing to show.
  static func empty(_ title: String, _ text: String, @HTMLBuilder _ action: () -> HTML = { HTML() }) -> HTML {
    tag(.div, .class("empty")) {
      tag(.p, .class("empty-title")) { title }
      tag(.p) { text }
      action()
    }
  }

  /// Returns a selection of a form.
  static func select(
    _ label: String, _ name: String, _ selected: String, _ options: [(value: String, label: String)]
  ) -> HTML {
    tag(.label, .class("field")) {
      tag(.span, .class("label")) { label }
      tag(.select, .set(.name, name)) {
        for option in options {
          tag(.option, .set(.value, option.value), .flag(.selected, if: option.value == selected)) { option.label }
        }
      }
    }
  }

  /// Returns the selection of a store; nothing if there is only one.
  static func storeField(_ selected: UUID?, _ context: PageContext) -> HTML {
    guard context.stores.count > 1 else { return HTML() }
    let stores = context.stores.map { store in
      (value: store.id.uuidString.lowercased(), label: ShopMarkup.plain(store.name, limit: 60))
    }
    return select("Shop", "store", selected?.uuidString.lowercased() ?? "", [("", "All shops")] + stores)
  }
}
