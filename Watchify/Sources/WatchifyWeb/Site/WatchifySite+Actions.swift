import CofferTerminal
import Foundation
import WatchifyHTTP
import WatchifyKit

/// The forms. Each ends with a redirection, so that reloading a page repeats nothing.
extension WatchifySite {
  func act(_ context: PageContext) async throws -> HTTPResponse {
    let path = context.request.path
    let form = context.request.form
    switch (path.first, path.count) {
    case ("activity", 2) where path[1] == "read": return try await markRead(form, context)
    case ("shops", 1): return try await add(form, context)
    case ("demo", 1): return try await addDemo(context)
    case ("read", 1): return try await readAll(context)
    case ("resume", 1):
      try await service.resume()
      return .redirect(to: Link(["health"]).text)
    case ("wishes", 1): return try await wish(form, context)
    case ("wishes", 3) where path[2] == "edit": return try await edit(try await wish(path[1]), form, context)
    case ("wishes", 3) where path[2] == "remove":
      if let id = UUID(uuidString: path[1]) { try await service.removeWish(id: id) }
      return .redirect(to: Link(["wishes"], [("done", "removed")]).text)
    case ("settings", 1): return try await change(form, context)
    case ("notify", 1): return try await notify(context)
    case ("shops", 3): return try await change(try knownStore(path[1], context.stores), path[2], form, context)
    default: throw SiteProblem.noPage
    }
  }

  // MARK: News

  private func markRead(_ form: [(name: String, value: String)], _ context: PageContext) async throws -> HTTPResponse {
    let query = try ActivityQuery(form, stores: context.stores, moments: context.moments)
    let ids = form.filter { $0.name == "event" }.flatMap { $0.value.split(separator: ",") }
    if !ids.isEmpty {
      try await service.markRead(ids: ids.prefix(5_000).compactMap { UUID(uuidString: String($0)) })
      // Back to the row, on the page that it was on.
      if let store = query.store, let row = form.first(where: { $0.name == "shop" })?.value {
        return .redirect(to: Link(["shops", store.uuidString.lowercased()], at: row).text)
      }
      let next = form.first { $0.name == "next" }?.value
      return .redirect(to: Link(["activity"], query.items, at: next).text)
    } else if form.contains(where: { $0.name == "all" }) {
      try await markShown(query.filter(context.moments), until: form.first { $0.name == "until" }?.value ?? "")
    }
    return .redirect(to: query.at(page: 1).link.text)
  }

  /// Marks the news that a page showed, but not news that has arrived since.
  private func markShown(_ filter: EventFilter, until text: String) async throws {
    var filter = filter
    filter.unreadOnly = true
    let until = Int64(text).map { Date(timeIntervalSince1970: Double($0) / 1_000) } ?? .distantFuture
    let newest = try await service.events(filter, limit: 1).first
    guard let newest, newest.occurredAt > until else { return try await service.markRead(filter) }
    var ids: [UUID] = []
    while true {
      let page = try await service.events(filter, offset: ids.count, limit: 500)
      ids += page.map(\.id)
      guard page.count == 500 else { break }
    }
    let events = try await service.events(filter, limit: ids.count)
    try await service.markRead(ids: events.filter { $0.occurredAt <= until }.map(\.id))
  }

  // MARK: Shops

  private func add(_ form: [(name: String, value: String)], _ context: PageContext) async throws -> HTTPResponse {
    let entry = AddPage.Entry(form)
    do {
      let address = try ShopAddress(entry.address)
      let country = try entry.checkedCountry
      let (name, text) = (entry.name, entry.address)
      return try await follow(
        "Adding \(address.domain)", text, name: name.isEmpty ? nil : name, country: country, back: entry.link)
    } catch let error as ShopAddress.Invalid {
      return AddPage.page(
        context, entry, error: "\(error.localizedDescription) Give its address, such as allbirds.com.")
    } catch let problem as SiteProblem where problem.status == 422 {
      return AddPage.page(context, entry, error: problem.text)
    }
  }

  private func addDemo(_ context: PageContext) async throws -> HTTPResponse {
    guard let startDemo = options.startDemo else { throw SiteProblem.noPage }
    return try await follow(
      "Adding the demo shop", try await startDemo(), name: nil, country: nil, back: Link(["shops", "add"]))
  }

  private func follow(
    _ title: String, _ address: String, name: String?, country: String?, back: Link
  ) async throws -> HTTPResponse {
    let service = service
    let link = try await jobs.start(title, back: back) { report in
      report("Requesting its description")
      do {
        let id = try await service.addStore(name: name, domain: address, country: country) { products, page in
          report("\(counted(products, "product")) so far, page \(grouped(page))")
        }
        return Link(["shops", id.uuidString.lowercased()], [("done", "added")])
      } catch let error as SyncFailure {
        throw ErrorPage.problem(adding: error)
      }
    }
    return .redirect(to: link.text)
  }

  private func change(
    _ store: StoreDTO, _ what: String, _ form: [(name: String, value: String)], _ context: PageContext
  ) async throws -> HTTPResponse {
    switch what {
    case "read": return try await read([store], back: store.link)
    case "resume":
      try await service.resume(storeId: store.id)
      return .redirect(to: store.link.text)
    case "edit": return try await edit(store, form, context)
    case "remove":
      let typed = form.first { $0.name == "name" }?.value.trimmingCharacters(in: .whitespaces).lowercased()
      guard typed == store.name.lowercased() || typed == store.domain else {
        return try await EditPage.removal(of: store, context, service, isMistyped: true)
      }
      try await service.deleteStore(id: store.id)
      return .redirect(to: Link(["shops"], [("done", "removed")]).text)
    default: throw SiteProblem.noPage
    }
  }

  private func edit(
    _ store: StoreDTO, _ form: [(name: String, value: String)], _ context: PageContext
  ) async throws -> HTTPResponse {
    let entry = AddPage.Entry(form)
    guard !entry.name.isEmpty else {
      return try await EditPage.page(store, context, service, entry, error: "The name must not be empty.")
    }
    do {
      let country = try entry.checkedCountry
      try await service.updateStore(
        id: store.id, name: entry.name == store.name ? nil : entry.name,
        country: country == store.country ? nil : country)
      return .redirect(to: Link(store.path, [("done", "edited")]).text)
    } catch let problem as SiteProblem where problem.status == 422 {
      return try await EditPage.page(store, context, service, entry, error: problem.text)
    }
  }

  // MARK: Reading

  private func readAll(_ context: PageContext) async throws -> HTTPResponse {
    try await read(context.stores, back: Link(["health"]))
  }

  private func read(_ stores: [StoreDTO], back: Link) async throws -> HTTPResponse {
    let (service, options) = (service, options)
    let title = stores.count == 1 ? "Syncing \(ShopMarkup.plain(stores[0].name, limit: 60))" : "Syncing all shops"
    let link = try await jobs.start(title, back: back) { report in
      var news: [ChangeEventDTO] = []
      var (failure, isAnyRead): (SyncFailure?, Bool) = (nil, false)
      for store in stores {
        report(ShopMarkup.plain(store.name, limit: 60))
        do {
          news += try await service.sync(store.id)
          isAnyRead = true
        } catch let error as SyncFailure { failure = failure ?? error }
      }
      // A channel may take its time, which is not that of the read.
      Task { [news] in await options.deliver(news) }
      // A shop that is not due yet is no failure of the others.
      if let failure, stores.count == 1 || !isAnyRead { throw ErrorPage.problem(failure) }
      return news.isEmpty ? back : Link(["activity"], [("unread", "1")])
    }
    return .redirect(to: link.text)
  }

  // MARK: Wishes

  private func wish(_ form: [(name: String, value: String)], _ context: PageContext) async throws -> HTTPResponse {
    let entry = WishEntry(form)
    do {
      let (scope, condition) = (try entry.scope(context.stores), try entry.condition)
      let currency = entry.currency.isEmpty ? nil : entry.currency
      let expiry = try entry.expiry(context.moments)
      _ = try await service.addWish(scope, condition, expiresAt: expiry, currency: currency)
      return .redirect(to: Link(["wishes"], [("done", "added")]).text)
    } catch let error as WishError {
      return try await WishesPage.page(context, service, entry, error: error.localizedDescription)
    } catch let problem as SiteProblem where problem.status == 422 {
      return try await WishesPage.page(context, service, entry, error: problem.text)
    }
  }

  private func edit(
    _ wish: WishDTO, _ form: [(name: String, value: String)], _ context: PageContext
  ) async throws -> HTTPResponse {
    let entry = WishEntry(form)
    do {
      let condition = try entry.condition
      // A day that was not changed is the same instant, also if it has passed.
      let isSameDay = entry.until == WishEntry(wish, context.moments).until
      let expiry = isSameDay ? wish.expiresAt : try entry.expiry(context.moments)
      _ = try await service.editWish(
        id: wish.id, condition: condition, expiresAt: expiry, currency: entry.currency.isEmpty ? nil : entry.currency)
      return .redirect(to: Link(["wishes"], [("done", "edited")]).text)
    } catch let error as WishError {
      return try await WishPage.page(wish, context, service, entry, error: error.localizedDescription)
    } catch let problem as SiteProblem where problem.status == 422 {
      return try await WishPage.page(wish, context, service, entry, error: problem.text)
    }
  }

  // MARK: Settings

  private func change(_ form: [(name: String, value: String)], _ context: PageContext) async throws -> HTTPResponse {
    let entries = SettingsPage.entries(form)
    let named = form.first { $0.name == "reset" }.flatMap { WatchifySetting.named($0.value) }
    let reset = named.flatMap { SettingsPage.isEditable($0) ? $0 : nil }
    guard let group = reset?.group ?? entries.first?.setting.group else {
      throw SiteProblem(
        status: 400, title: "There is no such setting", text: "The form contains no known one. Nothing was changed.")
    }
    if let reset {
      try await reset.reset(container.settings)
    } else {
      guard !entries.contains(where: SettingsPage.isRejected) else {
        return try await SettingsPage.page(context, container, entered: entries)
      }
      // What was not edited keeps its value, also one stored since the form was shown.
      for entry in entries where entry.text != entry.was {
        _ = try await entry.setting.write(container.settings, entry.text)
      }
    }
    return .redirect(to: Link(["settings"], [("done", group)], at: SettingsPage.anchor(group)).text)
  }

  private func notify(_ context: PageContext) async throws -> HTTPResponse {
    guard let test = options.testNotification else { throw SiteProblem.noPage }
    return try await HealthPage.page(context, service, remarks: await test())
  }
}
