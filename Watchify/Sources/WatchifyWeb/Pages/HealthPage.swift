import CofferTerminal
import Foundation
import WatchifyHTTP
import WatchifyKit

/// The page about whether everything works, apart from the news.
enum HealthPage {
  static func page(
    _ context: PageContext, _ service: StoreService, remarks: [String] = []
  ) async throws -> HTTPResponse {
    let waiting = try await service.waitingNews().filter { $0.count > 0 }
    let points = try await service.snapshotCount()
    return Frame.page("Health", .health, context, isLive: true) {
      tag(.div, .class("head")) {
        tag(.h1) { "Health" }
        if !context.stores.isEmpty { context.button("Sync all shops now", Link(["read"]), look: "") }
      }
      tag(.p, .class("lead")) { StateLine.parts(context).joined(separator: " · ") }
      for remark in remarks { tag(.p, .class("done"), .set(.role, "status")) { ShopMarkup.plain(remark, limit: 400) } }
      rests(context)
      stores(context)
      channels(context, waiting)
      tag(.section) {
        tag(.h2) { "Data" }
        tag(.dl, .class("facts")) {
          fact("Shops", grouped(context.stores.count))
          fact("Products", grouped(context.stores.reduce(0) { $0 + $1.cachedProductCount }))
          fact("Price points", grouped(points))
        }
        tag(.p, .class("note")) { "'watchify doctor' also examines the database file and the network." }
      }
    }
  }

  private static func rests(_ context: PageContext) -> HTML {
    guard !context.rests.isEmpty else { return HTML() }
    return tag(.div, .class("banner"), .set(.role, "note")) {
      for rest in context.rests {
        tag(.p) {
          if let shop = rest.shop?.domain {
            "\(shop) has asked for a pause: it is not synced before \(context.moments.text(rest.until)), "
            "other shops are."
          } else {
            "Shopify has asked for a pause: no shop is synced before \(context.moments.text(rest.until))."
          }
        }
      }
      tag(.p) { "Stored data is kept, and syncing resumes automatically." }
      context.button("End the pause", Link(["resume"]))
    }
  }

  private static func stores(_ context: PageContext) -> HTML {
    tag(.section) {
      tag(.h2) { "Shops" }
      if context.stores.isEmpty { tag(.p, .class("note")) { "You follow no shop yet." } }
      tag(.ul, .class("checks")) {
        for store in context.stores {
          tag(.li, .class(store.lastSyncFailure == nil ? "ok" : "bad")) {
            tag(.div, .class("what")) {
              tag(.p, .class("subject")) {
                tag(.a, .href(store.link)) { ShopMarkup.text(store.name, limit: 120) }
                NewsText.hidden(store.lastSyncFailure == nil ? ": works." : ": needs a look.")
              }
              if let error = store.lastSyncFailure {
                tag(.p) { ShopPage.trouble(error, store, context) }
              } else {
                tag(.p, .class("shop")) { ShopsPage.facts(store, context).joined(separator: " · ") }
              }
              leftOut(store)
            }
            if store.lastSyncFailure != nil { context.button("Try again", Link(store.path + ["read"])) }
          }
        }
      }
    }
  }

  private static func leftOut(_ store: StoreDTO) -> HTML {
    let parts = [(store.unreadableProducts, "product"), (store.unreadableVariants, "variant")].filter { $0.0 > 0 }
      .map { counted($0.0, $0.1) }
    guard !parts.isEmpty else { return HTML() }
    return tag(.p, .class("note")) { "\(parts.joined(separator: " and ")) could not be read and are left out." }
  }

  private static func channels(_ context: PageContext, _ waiting: [(channel: String, count: Int)]) -> HTML {
    tag(.section) {
      tag(.h2) { "Notifications" }
      if context.health.channels.isEmpty {
        tag(.p, .class("note")) { "This process delivers no notifications." }
      }
      tag(.ul, .class("checks")) {
        for channel in context.health.channels {
          tag(.li, .class(channel.isWorking == false ? "bad" : channel.isWorking == true ? "ok" : "off")) {
            tag(.div, .class("what")) {
              tag(.p, .class("subject")) { "\(channel.name): \(StateLine.word(channel))" }
              if !channel.detail.isEmpty { tag(.p, .class("shop")) { ShopMarkup.plain(channel.detail) } }
            }
          }
        }
      }
      for news in waiting {
        tag(.p, .class("note")) {
          counted(news.count, "change waits", plural: "changes wait")
          " for delivery through \(news.channel): the next sync tries to deliver those that are due then, and after "
          "\(counted(StoreService.daysOfWaitingNews, "day")) at the latest they are given up."
        }
      }
      if context.options.testNotification != nil { context.button("Send a test", Link(["notify"])) }
    }
  }

  private static func fact(_ name: String, _ value: String) -> HTML {
    pieces {
      tag(.dt) { name }
      tag(.dd) { value }
    }
  }
}
